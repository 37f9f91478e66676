"""What a comparison and a chunk refuse, and names that must not get in the way of their statements."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.plan.plan import ChangeCounts
from airflow_refresh_provider.core.plan.ways import Way
from airflow_refresh_provider.errors import Failed
from airflow_refresh_provider.spark.acts import placing, sql
from tests.engine.acts import Lake, source

_ALIASES = (
    "SELECT id AS k, named_struct('k', {v}, '_op', {v}) AS s, named_struct('k', {v}, '_row_hash', {v}) AS t, "
    "array(map(id, {v})) AS e0, {v} AS _here, id AS _rank, {v} AS `count`, {v} AS h FROM range({n})"
)


@pytest.mark.parametrize(
    ("way", "by_vnode"),
    [
        pytest.param(Way.KEYED_REPLACE, False, marks=pytest.mark.slow),
        pytest.param(Way.MERGE, True, marks=pytest.mark.slow),
    ],
)
def test_columns_may_be_named_like_the_aliases_of_a_statement(lake: Lake, way: Way, by_vnode: bool) -> None:
    first = source(_ALIASES.format(v=1, n=6), "k").model_copy(update={"latest_by": "_rank"})
    then = source(_ALIASES.format(v="if(id = 2, 7, 1)", n=5), "k").model_copy(update={"latest_by": "_rank"})
    target = lake.target(first, by_vnode=by_vnode)
    lake.load(target, first)

    compared = lake.compare(target, then, one_chunk=0 if by_vnode else None)
    lake.apply(target, then, compared, way)

    assert compared.total == ChangeCounts(updated=1, deleted=1)
    assert lake.compare(target, then).total == ChangeCounts()


@pytest.mark.parametrize("way", [Way.REPLACE_ON, Way.MERGE])
def test_columns_of_plain_types_may_be_named_so_too(lake: Lake, way: Way) -> None:
    first = source("SELECT id AS k, id AS s, id AS t, id AS d, id AS h FROM range(6)", "k")
    then = source("SELECT id AS k, id + 1 AS s, id AS t, id AS d, id AS h FROM range(8)", "k")
    target = lake.target(first)
    lake.load(target, first)
    assert lake.refresh(target, then, way) == ChangeCounts(inserted=2, updated=6)


@pytest.mark.parametrize("vnode", [pytest.param("NULL", marks=pytest.mark.slow), "({right} + 1) % 4"])
def test_a_row_outside_its_vnode_is_refused_with_the_statement_that_removes_it(lake: Lake, vnode: str) -> None:
    wanted = source("SELECT id AS k FROM range(4)", "k")
    target = lake.target(wanted, by_vnode=True)
    lake.load(target, wanted)
    right = placing.vnode(target, wanted.keys)
    table = sql.table(target.location)
    lake.spark.sql(
        f"INSERT INTO {table} SELECT k, CAST({vnode.format(right=right)} AS INT), 0L FROM (SELECT 77L AS k)"
    ).collect()

    with pytest.raises(Failed) as caught:
        lake.compare(target, wanted, stored_hashes=False)
    assert caught.value.code == "misplaced_target_rows"
    lake.spark.sql(caught.value.next.partition("run again: ")[2]).collect()
    assert lake.compare(target, wanted, stored_hashes=False).total == ChangeCounts()


def test_keys_may_be_dates_that_python_does_not_know(lake: Lake) -> None:
    dates = "SELECT date_add(date'9999-12-31', CAST(id AS INT)) AS k, {v} AS v FROM range({n})"
    first = source(dates.format(v=1, n=4), "k")
    then = source(dates.format(v="if(id = 2, 7, 1)", n=3), "k")
    target = lake.target(first)
    lake.load(target, first)

    lake.apply(target, then, lake.compare(target, then), Way.KEYED_REPLACE)

    assert lake.compare(target, then).total == ChangeCounts()
