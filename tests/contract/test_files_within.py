"""Which files may have rows within spans, and which tables are not read by their files."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from deltalake import DeltaTable, Field, Schema, write_deltalake
from deltalake.schema import PrimitiveType

from airflow_refresh_provider.core.changes.reads import Read
from airflow_refresh_provider.core.maintain.spans import Spans
from airflow_refresh_provider.delta.tables.files_within import FEW_BYTES, FEW_FILES, MOST_FILES
from airflow_refresh_provider.delta.tables.target_log import DeltaTableLog
from airflow_refresh_provider.ports.table_log import SpansOf

ROWS = 50_000
"""Of each file; several pages of Parquet."""


def numbers(*spans: tuple[int, int], nulls: bool = False) -> Spans:
    return Spans(type="bigint", spans=spans, nulls=nulls)


def written(place: Path, *firsts: int, rows: int = ROWS) -> str:
    """A table with a file for each first number; there is a day for each thousand numbers."""
    for first in firsts:
        ids = pa.array(range(first, first + rows), pa.int64())
        days = pa.array([n // 1000 for n in range(first, first + rows)], pa.int32()).cast(pa.date32())
        write_deltalake(place, pa.table({"Id": ids, "day": days, "t": ["x"] * rows}), mode="append")
    return str(place)


def within(place: str, *ways: SpansOf, version: int | None = None) -> Read | None:
    newest = DeltaTable(place).version() if version is None else version
    return DeltaTableLog().files_within(place, newest, ways)


def test_the_files_are_those_that_may_have_such_values(tmp_path: Path) -> None:
    place = written(tmp_path, 0, 100_000)
    found = within(place, {"id": numbers((7, 7), (60_000, 70_000), (100_001, 100_001))})
    assert found is not None and len(found.paths) == 2
    assert found.schema_text == "`Id` bigint, `day` date, `t` string"
    assert found.deleted == ()
    only = within(place, {"id": numbers((7, 7))})
    assert only is not None
    (path,) = only.paths
    assert pq.read_table(path)["Id"][0].as_py() == 0


def test_a_version_has_its_own_files(tmp_path: Path) -> None:
    place = written(tmp_path, 0, 0)
    everywhere = {"id": numbers((0, 10))}
    both, first = within(place, everywhere), within(place, everywhere, version=0)
    assert both and first and (len(both.paths), len(first.paths)) == (2, 1)


def test_a_row_has_to_be_within_the_spans_of_all_columns_of_a_way_and_of_one_way(tmp_path: Path) -> None:
    place = written(tmp_path, 0, 100_000)
    days = Spans(type="date", spans=((120, 120),))
    neither = within(place, {"id": numbers((7, 7)), "day": days})
    assert neither is not None and len(neither.paths) == 1, "without a path the whole folder would be read"
    either = within(place, {"id": numbers((7, 7))}, {"day": days})
    assert either is not None and len(either.paths) == 2


@pytest.mark.parametrize(
    "way",
    [
        {"t": numbers((1, 2))},
        {"none": numbers((1, 2))},
        {"day": numbers((1, 2))},
        {"id": Spans(type="date", spans=((1, 2),))},
        {"id": numbers((1, 2), nulls=True)},
        {},
    ],
    ids=str,
)
def test_spans_of_another_kind_say_nothing(tmp_path: Path, way: SpansOf) -> None:
    place = written(tmp_path, 0)
    assert within(place, {"id": numbers((1, 2))}) is not None
    assert within(place, way) is None
    both = within(place, {"id": numbers((1, 2)), **way})
    assert (both is None) is ("id" in way), "another column of the way does"


def test_a_table_of_which_more_than_half_is_within_is_read_as_a_table(tmp_path: Path) -> None:
    """Each span takes a page of 20,000 rows."""
    place = written(tmp_path, 0)
    assert within(place, {"id": numbers((1, 1))}) is not None
    assert within(place, {"id": numbers((1, 1), (40_000, 40_000))}) is None


def test_without_statistics_all_rows_may_be_within(tmp_path: Path) -> None:
    properties = {"delta.dataSkippingNumIndexedCols": "0"}
    DeltaTable.create(tmp_path, Schema([Field("id", PrimitiveType("long"))]), configuration=properties)
    write_deltalake(tmp_path, pa.table({"id": pa.array(range(9), pa.int64())}), mode="append")
    assert within(str(tmp_path), {"id": numbers((100, 100))}) is None


def test_partitions_and_other_names_are_read_as_tables(tmp_path: Path) -> None:
    rows = pa.table({"id": pa.array(range(ROWS), pa.int64()), "p": ["a"] * ROWS})
    write_deltalake(tmp_path / "t", rows)
    assert within(str(tmp_path / "t"), {"id": numbers((1, 1))}) is not None
    write_deltalake(tmp_path / "p", rows, partition_by=["p"])
    assert within(str(tmp_path / "p"), {"id": numbers((1, 1))}) is None
    write_deltalake(tmp_path / "m", rows.rename_columns(["id", "_metadata"]))
    assert within(str(tmp_path / "m"), {"id": numbers((1, 1))}) is None


def test_many_files_are_read_as_a_table(tmp_path: Path) -> None:
    written(tmp_path, 1_000_000, rows=500_000)
    place = written(tmp_path, *range(MOST_FILES + 1), rows=1)
    assert within(place, {"id": numbers((0, MOST_FILES))}) is None
    fewer = within(place, {"id": numbers((1, MOST_FILES))})
    assert fewer is not None and len(fewer.paths) == MOST_FILES


def test_all_of_few_files_are_read_by_themselves(tmp_path: Path) -> None:
    place = written(tmp_path, *range(FEW_FILES + 1), rows=1)
    log = DeltaTableLog()
    assert log.few_files(place, FEW_FILES, deleted=True) is None
    found = log.few_files(place, FEW_FILES - 1, deleted=False)
    assert found is not None and len(found.paths) == FEW_FILES
    assert log.few_files(str(tmp_path / "none"), 0, deleted=True) is None


def test_a_large_file_is_not_read_by_itself(tmp_path: Path) -> None:
    place = written(tmp_path, 0, rows=1)
    log = tmp_path / "_delta_log" / f"{0:020}.json"
    text = log.read_text()
    assert DeltaTableLog().few_files(place, 0, deleted=True) is not None
    for size, read in ((FEW_BYTES, True), (FEW_BYTES + 1, False)):
        log.write_text(re.sub(r'"size":\d+', f'"size":{size}', text))
        assert (DeltaTableLog().few_files(place, 0, deleted=True) is not None) is read


def test_a_table_without_files_is_read_as_a_table(tmp_path: Path) -> None:
    DeltaTable.create(tmp_path, Schema([Field("id", PrimitiveType("long"))]))
    assert DeltaTableLog().few_files(str(tmp_path), 0, deleted=True) is None


def test_there_may_be_no_table(tmp_path: Path) -> None:
    assert DeltaTableLog().files_within(str(tmp_path / "none"), 0, [{"id": numbers((1, 1))}]) is None


def test_days_are_counted_from_1970(tmp_path: Path) -> None:
    place = written(tmp_path, 0, 100_000)
    found = [within(place, {"day": Spans(type="date", spans=((n, n),))}) for n in (2, 102)]
    days = [pq.read_table(read.paths[0])["day"][2000].as_py() for read in found if read]
    assert days == [date(1970, 1, 3), date(1970, 4, 13)]
