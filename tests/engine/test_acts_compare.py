"""Content that is read twice and content that is read once give the same change set."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from airflow_refresh_provider.core.columns import OP, ROW_HASH, VNODE
from airflow_refresh_provider.core.plan import ChangeCounts
from airflow_refresh_provider.ports.engine import Comparison
from airflow_refresh_provider.spark import content
from airflow_refresh_provider.spark.endpoint import Endpoint
from tests.engine.acts import Lake, opened, source


@pytest.fixture(scope="module")
def lake(spark_server: Endpoint, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    with opened(spark_server, tmp_path_factory.mktemp("compare")) as lake:
        yield lake


_ROWS = (
    "SELECT named_struct('n', {v}) AS `s t`, concat('k''', id % 7) AS `k 2`, CAST(id AS INT) AS k, "
    "if(id % 3 = 0, NULL, array(id)) AS a FROM range({ids})"
)
_FIRST = source(_ROWS.format(v="id", ids="0, 30"), "k", "k 2")
_THEN = source(_ROWS.format(v="if(id % 4 = 0, -1, id)", ids="10, 40"), "k", "k 2")


def _staged(lake: Lake, compared: Comparison) -> list[str]:
    rows = content.staged(lake.spark, compared.changes)
    return sorted(str(row.asDict(recursive=True)) for row in rows.select(sorted(rows.columns)).collect())


@pytest.mark.parametrize("by_vnode", [False, True], ids=["plain", "vnode"])
@pytest.mark.parametrize("vnodes", [None, (1, 2)], ids=["all vnodes", "some vnodes"])
def test_both_ways_of_comparing_stage_the_same(lake: Lake, by_vnode: bool, vnodes: tuple[int, ...] | None) -> None:
    target = lake.target(_FIRST, by_vnode=by_vnode)
    lake.load(target, _FIRST)

    found = [lake.compare(target, _THEN, row_wise=choice, vnodes=vnodes) for choice in (True, False)]

    assert found[0].total == (ChangeCounts(inserted=10, updated=5, deleted=10) if vnodes is None else found[1].total)
    assert (found[0].counts, found[0].source_rows, found[0].target_rows) == (
        found[1].counts,
        found[1].source_rows,
        found[1].target_rows,
    )
    by_keys, at_once = (_staged(lake, compared) for compared in found)
    assert by_keys == at_once
    assert all(name in by_keys[0] for name in (OP, ROW_HASH, VNODE))


@pytest.mark.parametrize("row_wise", [True, False])
def test_rows_that_left_may_be_kept(lake: Lake, row_wise: bool) -> None:
    target = lake.target(_FIRST)
    lake.load(target, _FIRST)

    kept = lake.compare(target, _THEN, row_wise=row_wise, deletes=False)

    assert kept.total == ChangeCounts(inserted=10, updated=5)
