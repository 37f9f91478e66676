"""Chunks of a partitioned target in layout plain: the rows of a partition are in few of them (ADR 68)."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_refresh_provider.core.definition.columns import OP, VNODE
from airflow_refresh_provider.core.plan.plan import Target
from airflow_refresh_provider.core.plan.ways import Way
from airflow_refresh_provider.ports.tasks import Comparison, Source
from airflow_refresh_provider.spark.acts import content
from tests.engine.acts import Lake, source

_DAYS = 40
_ROWS = f"SELECT id AS k, date_add(DATE'2026-01-01', CAST(id % {_DAYS} AS INT)) AS day, id AS v FROM range(4000)"


def _target(lake: Lake, wanted: Source, partitions: int) -> Target:
    """Empty, and expected to have so many partitions."""
    return lake.target(wanted, partition_by=("day",)).model_copy(update={"partitions": partitions})


def _vnodes_of(lake: Lake, target: Target, compared: Comparison) -> dict[str, set[int]]:
    """Partition -> the vnodes that its staged rows are in."""
    found: dict[str, set[int]] = {}
    for row in content.staged(lake.spark, compared.changes, target).select("day", VNODE).collect():
        found.setdefault(str(row.day), set()).add(row[VNODE])
    return found


@pytest.mark.parametrize("row_wise", [True, False])
def test_each_partition_is_written_by_one_chunk_where_there_are_many(lake: Lake, row_wise: bool) -> None:
    wanted = source(_ROWS, "k")
    target = _target(lake, wanted, partitions=_DAYS)

    compared = lake.compare(target, wanted, one_chunk=0, row_wise=row_wise)
    for vnode, counts in compared.counts.items():
        lake.apply(target, wanted, compared, Way.APPEND, by_vnode={vnode: counts})

    lake.assert_equal(target, wanted)
    assert len(compared.counts) == target.vnodes
    assert all(len(vnodes) == 1 for vnodes in _vnodes_of(lake, target, compared).values())
    assert len(list(Path(target.location).glob("day=*/*.parquet"))) == _DAYS


def test_a_lone_partition_is_divided_among_all_vnodes(lake: Lake) -> None:
    wanted = source(_ROWS.replace(f"id % {_DAYS}", "0"), "k")
    target = _target(lake, wanted, partitions=1)

    compared = lake.compare(target, wanted, one_chunk=0)

    assert _vnodes_of(lake, target, compared) == {"2026-01-01": set(range(target.vnodes))}


@pytest.mark.parametrize("row_wise", [True, False])
def test_a_row_is_where_it_will_be_and_a_row_to_delete_where_it_is(lake: Lake, row_wise: bool) -> None:
    """The key does not say the partition: a staged row that goes has no value of it."""
    first = source(_ROWS, "k")
    target = _target(lake, first, partitions=_DAYS)
    lake.load(target, first)
    known = lake.found(target.location)
    places = _vnodes_of(lake, known, lake.compare(_target(lake, first, partitions=_DAYS), first))
    then = source(f"SELECT k, DATE'2026-01-01' AS day, v FROM ({_ROWS}) WHERE k % {_DAYS} <> 7", "k")

    compared = lake.compare(known, then, one_chunk=0, row_wise=row_wise)
    staged = content.staged(lake.spark, compared.changes, known).select(OP, VNODE).distinct().collect()
    lake.apply(known, then, compared, Way.MERGE)

    lake.assert_equal(known, then)
    [of_first_day], [of_eighth_day] = places["2026-01-01"], places["2026-01-08"]
    assert {(row[OP], row[VNODE]) for row in staged} == {("U", of_first_day), ("D", of_eighth_day)}


def test_rows_of_many_tasks_are_shuffled_by_partition(lake: Lake) -> None:
    """In a first load straight from the query; the name of the column has to be quoted."""
    days = f"date_add(DATE'2026-01-01', CAST(id % {_DAYS} AS INT)) AS `the day`"
    wanted = source(f"SELECT /*+ REPARTITION(6) */ id AS k, {days} FROM range(4000)", "k")
    target = lake.target(wanted, partition_by=("the day",))

    report = lake.session.check_keys(wanted, target)
    lake.load(target, wanted)

    lake.assert_equal(target, wanted)
    assert report.partitions == pytest.approx(_DAYS, rel=0.1)
    assert len(list(Path(target.location).glob("*/*.parquet"))) == _DAYS
