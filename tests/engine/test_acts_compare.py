"""Content that is read twice and content that is read once give the same change set."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame

from airflow_refresh_provider.core.definition.columns import OP, ROW_HASH, VNODE
from airflow_refresh_provider.core.plan.plan import ChangeCounts, Target
from airflow_refresh_provider.core.plan.ways import Way
from airflow_refresh_provider.delta.tables.staging_folders import StagingFolders
from airflow_refresh_provider.ports.tasks import Comparison
from airflow_refresh_provider.spark.acts import content, differences
from tests.engine.acts import Lake, source

_ROWS = (
    "SELECT named_struct('n', {v}) AS `s t`, concat('k''', id % 7) AS `k 2`, CAST(id AS INT) AS k, "
    "if(id % 3 = 0, NULL, array(id)) AS a FROM range({ids})"
)
_FIRST = source(_ROWS.format(v="id", ids="0, 30"), "k", "k 2")
_THEN = source(_ROWS.format(v="if(id % 4 = 0, -1, id)", ids="10, 40"), "k", "k 2")


def _staged(lake: Lake, compared: Comparison, target: Target) -> list[str]:
    return _sorted_rows(content.staged(lake.spark, compared.changes, target))


def _sorted_rows(rows: DataFrame) -> list[str]:
    return sorted(str(row.asDict(recursive=True)) for row in rows.select(sorted(rows.columns)).collect())


@pytest.mark.parametrize(
    ("by_vnode", "vnodes"),
    [
        pytest.param(False, None, id="plain, all vnodes", marks=pytest.mark.slow),
        pytest.param(True, (1, 2), id="vnode, some vnodes"),
        pytest.param(False, (1, 2), id="plain, some vnodes", marks=pytest.mark.slow),
        pytest.param(True, None, id="vnode, all vnodes", marks=pytest.mark.slow),
    ],
)
def test_both_ways_of_comparing_stage_the_same(lake: Lake, by_vnode: bool, vnodes: tuple[int, ...] | None) -> None:
    target = lake.target(_FIRST, by_vnode=by_vnode)
    lake.load(target, _FIRST)

    at_once = lake.compare(target, _THEN, row_wise=False, vnodes=vnodes)
    task = lake.comparison(target, _THEN, row_wise=True, vnodes=vnodes)
    by_keys = lake.session.compare(task)

    if vnodes is None:
        assert at_once.total == ChangeCounts(inserted=10, updated=5, deleted=10)
    rows = _staged(lake, at_once, target)
    assert all(name in rows[0] for name in (OP, ROW_HASH, VNODE))
    assert by_keys.model_copy(update={"changes": at_once.changes}) == at_once
    assert _staged(lake, by_keys, target) == rows
    keys = lake.spark.read.parquet(f"{task.location}-keys")
    assert _sorted_rows(differences.widened(lake.spark, task, keys, few=False)) == rows


@pytest.mark.parametrize("row_wise", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_rows_that_left_may_be_kept(lake: Lake, row_wise: bool) -> None:
    target = lake.target(_FIRST)
    lake.load(target, _FIRST)

    kept = lake.compare(target, _THEN, row_wise=row_wise, deletes=False)

    assert kept.total == ChangeCounts(inserted=10, updated=5)


@pytest.mark.parametrize("row_wise", [pytest.param(True, marks=pytest.mark.slow), False])
def test_a_target_without_other_writers_is_compared_alike_without_counting_its_rows(lake: Lake, row_wise: bool) -> None:
    target = lake.target(_FIRST)
    lake.load(target, _FIRST)

    counted = lake.compare(target, _THEN, row_wise=row_wise)
    believed = lake.compare(target, _THEN, row_wise=row_wise, target_rows=30)

    assert (counted.source_rows, counted.target_rows) == (30, 30)
    assert believed.model_copy(update={"changes": counted.changes}) == counted


@pytest.mark.parametrize("ids", ["0, 30", "20, 40"], ids=["of rows that stay", "of new rows"])
def test_repeated_keys_show_without_counting_rows(lake: Lake, ids: str) -> None:
    target = lake.target(_FIRST)
    lake.load(target, _FIRST)
    twice = " UNION ALL ".join([_ROWS.format(v="id", ids=ids)] * 2)

    compared = lake.compare(target, source(twice, "k", "k 2"), target_rows=30)

    assert compared.keys.duplicate_keys == int(ids.partition(", ")[2]) - int(ids.partition(", ")[0])


def test_a_table_that_differs_enough_is_rewritten_with_nothing_staged(lake: Lake) -> None:
    target = lake.target(_FIRST)
    lake.load(target, _FIRST)
    assert not lake.compare(target, _THEN, rewrite_from=26).rewrite

    compared = lake.compare(target, _THEN, rewrite_from=25)

    assert compared.rewrite
    assert not StagingFolders().has(compared.changes)
    lake.apply(target, _THEN, compared, Way.REWRITE)
    lake.assert_equal(target, _THEN)
