"""Small tables that delta-rs has rewritten: Spark reads exactly what it has staged, and writes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_refresh_provider.core.plan.plan import ChangeCounts, Chunk, StagedTable, Target
from airflow_refresh_provider.core.plan.ways import Way
from airflow_refresh_provider.delta.tables.small_tables import SmallDeltaTables
from airflow_refresh_provider.ports.tasks import ApplyTask, Source
from tests.engine.acts import Lake, source

_VALUES = (
    "SELECT id AS k, CAST(id % 100 AS TINYINT) AS ti, CAST(id AS SMALLINT) AS si, CAST(id AS INT) AS i, "
    "id % 2 = 0 AS b, if(id % 3 = 0, NULL, concat('ü ', id, chr(0), '{v}')) AS s, "
    "CASE id WHEN 0 THEN double('NaN') WHEN 1 THEN -0.0D WHEN 2 THEN double('-Infinity') ELSE id / 3D END AS d, "
    "CAST(CASE id WHEN 0 THEN 'NaN' WHEN 1 THEN '-0.0' ELSE id + 0.1 END AS FLOAT) AS f, "
    "CAST(12345678901234567890123456.123456789 + id AS DECIMAL(38, 9)) AS d38, CAST(id AS DECIMAL(9, 2)) AS d9, "
    "CAST(-id AS DECIMAL(18, 0)) AS d18, unhex(concat('ff00', lpad(hex(id), 4, '0'))) AS x, "
    "CASE id WHEN 0 THEN DATE'0001-01-01' WHEN 1 THEN DATE'9999-12-31' WHEN 2 THEN DATE'1582-10-10' "
    "ELSE date_add(DATE'2020-01-01', CAST(id AS INT)) END AS day, "
    "CASE id WHEN 0 THEN TIMESTAMP'0001-01-01 00:00:00.000001' WHEN 1 THEN TIMESTAMP'9999-12-31 23:59:59.999999' "
    "ELSE timestamp_micros(id * 1234567) END AS t "
    "FROM range({first}, {last})"
)
_BEFORE = source(_VALUES.format(v="a", first=0, last=40), "k")
_AFTER = source(_VALUES.format(v="b", first=5, last=44), "k")


def _small(lake: Lake, query: Source) -> Target:
    target = lake.target(query)
    lake.load(target, query)
    return lake.found(target.location)


def _rewrite(lake: Lake, target: Target, query: Source) -> ChangeCounts:
    """Compare with Spark, and rewrite twice: the second time commits nothing."""
    compared = lake.compare(target, query)
    before = lake.log.newest(target.location)
    task = _task(lake, target, query, compared.changes, compared.counts)
    for _ in range(2):
        assert SmallDeltaTables().rewrite(task) is None
    (commit,) = lake.commits(target, before)
    assert (commit.txns, commit.note) == ({task.stamp.app_id: task.stamp.marker.version}, task.stamp.note.text())
    return compared.total


def _task(
    lake: Lake, target: Target, query: Source, changes: StagedTable, counts: dict[int, ChangeCounts]
) -> ApplyTask:
    return ApplyTask(
        target=target,
        source=query,
        base=lake.log.newest(target.location),
        changes=changes,
        chunk=Chunk(number=1, way=Way.SMALL_TABLE, by_vnode=counts),
        stamp=lake.stamp(target),
    )


def test_every_value_arrives_exactly(lake: Lake) -> None:
    target = _small(lake, _BEFORE)
    assert target.small
    assert _rewrite(lake, target, _AFTER) == ChangeCounts(inserted=4, updated=23, deleted=5)
    lake.assert_equal(target, _AFTER)
    assert lake.compare(target, _AFTER).total == ChangeCounts()
    (files,) = (
        lake.spark.sql(f"DESCRIBE DETAIL delta.`{target.location.replace('`', '``')}`").select("numFiles").collect()
    )
    assert files.numFiles == 1


def test_rows_that_deletion_vectors_hide_stay_hidden(lake: Lake) -> None:
    target = _small(lake, _BEFORE)
    half = source(_VALUES.format(v="a", first=0, last=20), "k")
    lake.refresh(target, half, Way.KEYED_REPLACE)
    assert _rewrite(lake, target, _AFTER) == ChangeCounts(inserted=24, updated=10, deleted=5)
    lake.assert_equal(target, _AFTER)


def test_spark_goes_on_where_delta_rs_has_stopped(lake: Lake) -> None:
    target = _small(lake, _BEFORE)
    _rewrite(lake, target, _AFTER)
    assert lake.refresh(target, _BEFORE, Way.MERGE).total == 32
    _rewrite(lake, target, _AFTER)
    assert lake.refresh(target, _BEFORE, Way.KEYED_REPLACE).total == 32
    versions = lake.log.newest(target.location)
    rows = lake.spark.read.option("versionAsOf", versions - 1).format("delta").load(target.location)
    assert rows.count() == 39


@pytest.mark.slow
def test_of_many_commits_those_with_a_checkpoint_are_spark_s(lake: Lake) -> None:
    target = _small(lake, _BEFORE)
    spark_s = []
    for number in range(20):
        query = source(_VALUES.format(v=number, first=number, last=40), "k")
        if lake.found(target.location).small:
            _rewrite(lake, target, query)
        else:
            lake.refresh(target, query, Way.MERGE)
            spark_s.append(lake.log.newest(target.location))
    lake.assert_equal(target, query)
    log = Path(target.location) / "_delta_log"
    assert spark_s == [10, 20]
    assert sorted(int(file.name[:20]) for file in log.glob("*.checkpoint*.parquet")) == spark_s
    assert lake.log.markers(target.location)


def test_filters_find_values_that_statistics_would_have_rounded_away(lake: Lake) -> None:
    target = _small(lake, _BEFORE)
    _rewrite(lake, target, source(_VALUES.format(v="b", first=0, last=44), "k"))
    place = target.location.replace("`", "``")
    found = lake.spark.sql(
        f"SELECT count_if(d38 = 12345678901234567890123456.123456789 + 43) AS exact FROM delta.`{place}` "
        "WHERE d38 >= 12345678901234567890123456.123456789 + 43"
    ).collect()
    assert found[0].exact == 1
    # NaN is greater than every number.
    assert lake.spark.sql(f"SELECT * FROM delta.`{place}` WHERE f > 1e30 AND d > 1e300").count() == 1
