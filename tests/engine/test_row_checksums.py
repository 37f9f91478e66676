"""Comparisons by checksums find what those of all rows find, and read only the rows of buckets that differ."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_refresh_provider.core.plan.checksums import Checksums
from airflow_refresh_provider.core.plan.plan import ChangeCounts, Target
from airflow_refresh_provider.core.plan.ways import Way
from airflow_refresh_provider.delta.tables.staging_folders import StagingFolders
from airflow_refresh_provider.ports.tasks import ChecksumTask, Comparison, KeyReport, Source
from airflow_refresh_provider.spark.acts import content
from airflow_refresh_provider.spark.acts.row_checksums import FAST_MAP, LEAST_ROWS
from tests.engine.acts import Lake, source

_ROWS = (
    "SELECT named_struct('n', {v}) AS `s t`, concat('k''', id % 7) AS `k 2`, CAST(id AS INT) AS k, "
    "if(id % 3 = 0, NULL, array(id)) AS a FROM range({ids})"
)
_FIRST = source(_ROWS.format(v="id", ids="0, 400"), "k", "k 2")
_FEW = source(_ROWS.format(v="if(id % 100 = 0, NULL, id)", ids="3, 401"), "k", "k 2")
_MANY = source(_ROWS.format(v="if(id % 2 = 0, NULL, id)", ids="3, 401"), "k", "k 2")
_BUCKETS = 1 << 12


class Compared:
    """A loaded target, compared with and without checksums."""

    def __init__(self, lake: Lake, first: Source, rows: int) -> None:
        self.lake = lake
        self.target: Target = lake.target(first)
        lake.load(self.target, first)
        self.rows = rows

    def plainly(self, wanted: Source) -> Comparison:
        """Without them."""
        return self.lake.compare(self.target, wanted, target_rows=self.rows)

    def by(self, known: Checksums | None, wanted: Source, **more: Any) -> Comparison:
        """With them, of a table as large as it has to be."""
        task = ChecksumTask(location=self.lake.place("checksums"), buckets=_BUCKETS, known=known)
        given: dict[str, Any] = {"checksums": task, "target_rows": self.rows, "expected_rows": LEAST_ROWS}
        return self.lake.compare(self.target, wanted, **given | more)

    def made(self, wanted: Source) -> Checksums:
        """Those of a source."""
        found = self.by(None, wanted).checksums
        assert found is not None
        return found

    def staged(self, found: Comparison) -> list[str]:
        rows = content.staged(self.lake.spark, found.changes, self.target)
        return sorted(str(row.asDict(recursive=True)) for row in rows.select(sorted(rows.columns)).collect())


@pytest.fixture(scope="module")
def compared(lake: Lake) -> Compared:
    return Compared(lake, _FIRST, 400)


def test_the_same_differences_are_found(compared: Compared) -> None:
    known = compared.made(_FIRST)
    found, plainly = compared.by(known, _FEW), compared.plainly(_FEW)
    assert found.total == ChangeCounts(inserted=1, updated=3, deleted=3)
    assert found.compared is not None and 7 <= found.compared < 50
    assert found.model_copy(update={"changes": plainly.changes, "checksums": None, "compared": None}) == plainly
    assert compared.staged(found) == compared.staged(plainly)


def test_the_setting_of_the_faster_map_is_one_of_spark_and_is_reset(compared: Compared) -> None:
    """Spark refuses to name a default of a setting that it does not know."""
    conf = compared.lake.spark.conf
    before = conf.get(FAST_MAP)
    compared.made(_FIRST)
    assert conf.get(FAST_MAP) == before == "16"


def test_what_is_made_is_there_and_is_that_of_the_rows(compared: Compared) -> None:
    known, of_few = compared.made(_FIRST), compared.made(_FEW)
    assert (known.rows, of_few.rows, known.buckets) == (400, 398, _BUCKETS)
    assert StagingFolders().rows(known.location) == known.entries <= 400
    beside = compared.by(known, _FEW).checksums
    assert beside is not None and beside.entries > of_few.entries, "buckets without rows show that rows went"
    for again in (beside, of_few):
        nothing = compared.by(again, _FEW)
        assert (nothing.total.total, nothing.source_rows, nothing.target_rows) == (0, 398, 398)
        assert not StagingFolders().has(nothing.changes)


def test_rows_of_other_buckets_are_not_read(lake: Lake) -> None:
    compared = Compared(lake, _FIRST, 400)
    known = compared.made(_FIRST)
    lake.spark.sql(f"UPDATE delta.`{compared.target.location.replace('`', '``')}` SET a = NULL WHERE k = 5").collect()
    assert compared.plainly(_FEW).total.updated == 4
    assert compared.by(known, _FEW).total.updated == 3


def test_what_is_found_is_applied(lake: Lake) -> None:
    compared = Compared(lake, _FIRST, 400)
    found = compared.by(compared.made(_FIRST), _FEW)
    lake.apply(compared.target, _FEW, found, Way.MERGE)
    lake.assert_equal(compared.target, _FEW)


def test_where_many_rows_differ_all_are_compared(compared: Compared) -> None:
    known = compared.made(_FIRST)
    found, plainly = compared.by(known, _MANY), compared.plainly(_MANY)
    assert found.checksums is not None and found.checksums.rows == 398
    assert found.model_copy(update={"changes": plainly.changes, "checksums": None}) == plainly
    assert compared.by(known, _MANY, rewrite_from=100).rewrite


def test_few_rows_have_none(compared: Compared) -> None:
    assert compared.by(None, _FIRST, expected_rows=LEAST_ROWS - 1).checksums is None


@pytest.mark.parametrize(
    ("more", "keys"),
    [
        ("SELECT NULL, 'k', 7, NULL UNION ALL SELECT NULL, NULL, 8, NULL", KeyReport(rows=0, null_keys=1)),
        (_ROWS.format(v="-1", ids="20, 22"), KeyReport(rows=0, duplicate_keys=2)),
        (_ROWS.format(v="id", ids="20, 22"), KeyReport(rows=0, duplicate_keys=2)),
        (" UNION ALL ".join([_ROWS.format(v="id", ids="900, 902")] * 2), KeyReport(rows=0, duplicate_keys=2)),
    ],
    ids=["NULL", "another row", "the same row", "a new row"],
)
def test_invalid_keys_are_found(compared: Compared, more: str, keys: KeyReport) -> None:
    wanted = source(f"{_FIRST.query} UNION ALL {more}", "k", "k 2")
    found = compared.by(compared.made(_FIRST), wanted).keys
    assert (found.null_keys, found.duplicate_keys) == (keys.null_keys, keys.duplicate_keys)


@pytest.mark.parametrize(
    "key",
    ["id", "CAST(id / 2 AS DECIMAL(20, 1))", "DATE'1500-01-01' + CAST(id AS INT)", "id % 2 = 0", "-0.0 * id"],
    ids=["bigint", "decimal", "date", "boolean", "double"],
)
def test_keys_of_any_type_have_a_bucket(lake: Lake, key: str) -> None:
    first, then = (
        source(f"SELECT {key} AS k, id AS o, {v} AS v FROM range(40)", "k", "o") for v in ("id", "id + (id div 38)")
    )
    compared = Compared(lake, first, 40)
    found = compared.by(compared.made(first), then)
    assert found.total == ChangeCounts(updated=2)
