"""Inputs are read at their pins, whatever their files are called; one that cannot be read is named."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_refresh_provider.core.changes.pins import DeltaPin, Pin
from airflow_refresh_provider.core.changes.sources import ChangeSource
from airflow_refresh_provider.core.definition.columns import Column
from airflow_refresh_provider.core.definition.inputs import Input
from airflow_refresh_provider.core.plan.plan import Chunk, Split
from airflow_refresh_provider.core.plan.ways import Way
from airflow_refresh_provider.errors import Failed, Invalid
from airflow_refresh_provider.inputs.kinds import kind_of
from airflow_refresh_provider.ports.tasks import Source
from airflow_refresh_provider.spark.acts import sql
from tests.engine.acts import Lake, source


def _parquet(lake: Lake, query: str, *partition_by: str) -> Path:
    """The rows of a query as a folder of parquet files."""
    folder = Path(lake.place("files"))
    lake.spark.sql(query).coalesce(1).write.partitionBy(*partition_by).parquet(str(folder))
    return folder


def _pin(place: Path | str, format: str = "parquet") -> Pin:
    pin: Pin = kind_of(format).pin("x", Input(path=str(place), format=format))
    return pin


def _of(pin: Pin, query: str = "SELECT * FROM x") -> Source:
    return source(query, "k", pins={"x": pin})


def _by_files(source: Source, *files: str) -> Source:
    return source.model_copy(update={"reads": {"x": source.reads["x"].of_files(files)}})


def _damaged(file: Path) -> None:
    """Spoil the pages of a parquet file, its footer stays."""
    content = file.read_bytes()
    file.write_bytes(content[:4] + bytes(len(content) // 3) + content[4 + len(content) // 3 :])


@pytest.mark.parametrize(
    "name", ["a b.parquet", "p[1]{x,y}.parquet", "what?*.parquet", "it's`ü%20=.parquet", "back\\slash.parquet"]
)
def test_a_file_is_read_by_its_very_name(lake: Lake, name: str) -> None:
    folder = _parquet(lake, "SELECT id AS k FROM range(3)")
    (file,) = folder.glob("*.parquet")
    shutil.copy(file, folder / name)

    assert lake.keys(_of(_pin(folder / name))).rows == 3


def test_only_pinned_files_are_read(lake: Lake) -> None:
    folder = _parquet(lake, "SELECT id AS k FROM range(3)")
    pinned = _pin(folder)
    lake.spark.sql("SELECT id AS k FROM range(9)").write.mode("append").parquet(str(folder))

    assert lake.keys(_of(pinned)).rows == 3
    assert lake.keys(_of(_pin(folder))).rows == 12


def test_only_the_pinned_version_is_read(lake: Lake) -> None:
    pinned = lake.input("SELECT id AS k FROM range(3)")
    lake.spark.sql("SELECT id AS k FROM range(9)").write.format("delta").mode("append").save(pinned.location)

    assert lake.keys(_of(pinned)).rows == 3


def test_a_table_of_which_the_files_are_given_is_read_by_these_and_in_its_own_columns(lake: Lake) -> None:
    place = lake.input("SELECT id AS k FROM range(3)").location
    table = lake.spark.sql("SELECT id AS k, 1.5 AS v FROM range(3, 9)").write.format("delta")
    table.mode("append").option("mergeSchema", "true").save(place)
    pinned = _pin(place, "delta")
    files = kind_of("delta").files(pinned)
    assert files is not None
    everything = _by_files(_of(pinned), *(path for path, _size in files))
    first = _by_files(_of(pinned), *(path for path, _size in files if lake.spark.read.parquet(path).columns == ["k"]))

    assert lake.session.describe(first) == lake.session.describe(everything) == lake.session.describe(_of(pinned))
    assert lake.keys(first).rows == 3
    assert lake.keys(everything).rows == 9


def test_a_table_whose_files_have_names_that_spark_hides_is_read_as_a_table(lake: Lake) -> None:
    folder = Path(lake.input("SELECT /*+ COALESCE(1) */ id AS k FROM range(3)").location)
    (file,) = folder.glob("*.parquet")
    file.rename(folder / "_part-0.parquet")
    log = folder / "_delta_log" / f"{0:020}.json"
    log.write_text(log.read_text().replace(file.name, "_part-0.parquet"))
    (log.parent / f".{log.name}.crc").unlink(missing_ok=True)
    pinned = _pin(folder, "delta")

    assert kind_of("delta").files(pinned) is None
    assert lake.keys(_of(pinned)).rows == 3
    assert lake.keys(_by_files(_of(pinned), str(folder / "_part-0.parquet"))).rows == 0


@pytest.mark.parametrize("column", ["day", "_day"])
def test_subfolders_that_stand_for_columns_are_read_as_such(lake: Lake, column: str) -> None:
    pinned = _pin(_parquet(lake, f"SELECT id AS k, id % 2 AS {column} FROM range(4)", column))
    all_rows = _of(pinned)
    target = lake.target(all_rows)

    assert lake.session.describe(all_rows) == (Column(name="k", type="bigint"), Column(name=column, type="int"))
    assert pinned.kind == "files"
    for number, file in enumerate(pinned.files, start=1):
        lake.load(
            target, all_rows, Chunk(number=number, way=Way.APPEND, split=Split(number=number, files=(file.path,)))
        )
    found = lake.spark.read.format("delta").load(target.location).collect()
    assert sorted((row.k, row[column]) for row in found) == [(0, 0), (1, 1), (2, 0), (3, 1)]


def test_reader_options_of_an_input_reach_its_reader(lake: Lake) -> None:
    folder = _parquet(lake, "SELECT 1 AS k")
    lake.spark.sql("SELECT 2 AS k, 'new' AS v").write.mode("append").parquet(str(folder))
    merged = _of(_pin(folder)).model_copy(update={"reads": {"x": _pin(folder).read({"mergeSchema": "true"})}})

    assert [column.name for column in lake.session.describe(merged)] == ["k", "v"]


@pytest.mark.parametrize(
    ("format", "by_files"),
    [("parquet", False), ("delta", False), ("delta", True)],
    ids=["parquet", "delta", "delta by its files"],
)
def test_a_file_that_is_gone_is_reported_with_its_input(lake: Lake, format: str, by_files: bool) -> None:
    place = _parquet(lake, "SELECT id AS k FROM range(3)") if format == "parquet" else None
    folder = place or Path(lake.input("SELECT id AS k FROM range(3)").location)
    pinned = _pin(folder, format)
    read = _by_files(_of(pinned), *map(str, folder.glob("*.parquet"))) if by_files else _of(pinned)
    for file in folder.glob("*.parquet"):
        file.unlink()

    with pytest.raises(Failed, match="the input x: ") as caught:
        lake.keys(read)
    assert caught.value.code == "input_missing"


def test_a_damaged_file_is_reported_with_its_input(lake: Lake) -> None:
    folder = _parquet(lake, "SELECT id AS k, uuid() AS v FROM range(500)")
    pinned = _pin(folder)
    for file in folder.glob("*.parquet"):
        _damaged(file)

    with pytest.raises(Failed, match="the input x: ") as caught:
        lake.keys(_of(pinned))
    assert caught.value.code == "input_unreadable"


def test_a_query_that_spark_refuses_leaves_the_session_usable(lake: Lake) -> None:
    pinned, session = lake.input("SELECT id AS k FROM range(3)"), lake.session

    with pytest.raises(Invalid, match=r"line 2, column 3"):
        session.describe(_of(pinned, "SELECT k,\n  nope FROM x"))
    assert lake.keys(_of(pinned)).rows == 3


def test_a_file_of_which_rows_are_marked_as_deleted_counts_once(
    lake: Lake, open_session: Callable[[], SparkSession]
) -> None:
    """The feed has no file of its own for it; the commit removes the file and adds it again."""
    place, spark = lake.place("t"), open_session()  # that of the lake keeps settings of failed acts
    feed = "'delta.enableChangeDataFeed' = 'true', 'delta.enableDeletionVectors' = 'true'"
    spark.sql(
        f"CREATE TABLE {sql.table(place)} USING delta TBLPROPERTIES ({feed}) AS SELECT id FROM range(0, 1000, 1, 1)"
    ).collect()
    spark.sql(f"DELETE FROM {sql.table(place)} WHERE id = 7").collect()
    newest = _pin(place, "delta")
    assert isinstance(newest, DeltaPin)
    found = kind_of("delta").history(newest.model_copy(update={"version": 0}), newest)
    assert found is not None
    by_feed = [info.bytes for info in found.change_sources if info.source is ChangeSource.FEED]
    assert by_feed == [newest.bytes]


_ODD = """SELECT id AS k, CAST(id AS DECIMAL(20,4)) AS `a-b`, named_struct('x.y', array(id), 'm', map('a', 1.5D)) AS s,
    TIMESTAMP_NTZ'2024-01-01 00:00:00' AS t, TIMESTAMP'2024-01-01 00:00:00' AS z, 'x' AS c,
    CAST(1 AS TINYINT) AS i, X'00' AS b, DATE'2024-01-01' AS d, parse_json('1') AS v FROM range(3)"""
_OVER_ODD = """SELECT k, count(*) AS n, sum(`a-b`) AS total, max(z - INTERVAL 1 DAY) AS z, collect_list(s) AS s,
    min(t) AS t, max(c) AS c, avg(i) AS i, max(struct(b, d)) AS pair, first(v) AS v,
    max(k / 3) AS ratio FROM x GROUP BY k"""


def test_a_query_is_described_by_known_columns_as_by_the_table(lake: Lake) -> None:
    pinned = lake.input(_ODD)
    known = tuple(Column(name=name, type=kind) for name, kind in kind_of("delta").columns(pinned).items())
    for query in ("SELECT * FROM x", _OVER_ODD):
        by_table = _of(pinned, query)
        by_columns = by_table.model_copy(update={"columns": {"x": known}})
        assert lake.session.describe(by_columns) == lake.session.describe(by_table)


def test_a_query_is_described_by_known_columns_without_the_table(lake: Lake) -> None:
    gone = lake.input("SELECT id AS k FROM range(3)")
    shutil.rmtree(gone.location)
    known = _of(gone, "SELECT k + 1.5BD AS k FROM x").model_copy(
        update={"columns": {"x": (Column(name="k", type="bigint"),)}}
    )
    assert lake.session.describe(known) == (Column(name="k", type="decimal(22,1)"),)
    with pytest.raises(Failed) as failed:
        lake.session.describe(known.model_copy(update={"query": "SELECT nope AS k FROM x"}))
    assert failed.value.code == "input_missing"
