"""TPC-H: which queries follow their inputs, and that they do so rightly."""

from __future__ import annotations

import re

import pytest

from airflow_refresh_provider.core.maintain.analysis import maintenance
from tests.unit.maintain.keyed import is_right, random_changes, whole
from tests.unit.maintain.tpch import QUERIES, TABLES, UNFOLLOWED
from tests.unit.maintain.tpch_orders import orders_come_and_go


def tables_of(query: str) -> dict[str, dict[str, str]]:
    return {name: TABLES[name] for name in TABLES if re.search(rf"\b{name}\b", query)}


@pytest.mark.parametrize("number", QUERIES)
def test_a_query_follows_its_inputs(number: int) -> None:
    found = maintenance(QUERIES[number], tables_of(QUERIES[number]), ())
    assert tuple(sorted(found.unfollowed)) == UNFOLLOWED.get(number, ())


@pytest.mark.parametrize("rounds", [6, pytest.param(200, marks=pytest.mark.slow)], ids=["few", "many"])
@pytest.mark.parametrize("number", QUERIES)
def test_a_query_is_refreshed_as_it_is_computed(number: int, rounds: int) -> None:
    tables = tables_of(QUERIES[number])
    plan = maintenance(QUERIES[number], tables, ())
    for seed in range(rounds) if plan.anchors else ():
        assert is_right(plan, QUERIES[number], *random_changes(seed, tables)), seed


@pytest.mark.parametrize("rounds", [12, pytest.param(200, marks=pytest.mark.slow)], ids=["few", "many"])
@pytest.mark.parametrize("number", QUERIES)
def test_orders_that_come_and_go_with_their_lines_are_followed(number: int, rounds: int) -> None:
    query, tables = QUERIES[number], tables_of(QUERIES[number])
    plan, rows = maintenance(query, tables, ()), 0
    for seed in range(rounds) if plan.anchors else ():
        before, after = ({name: lake[name] for name in tables} for lake in orders_come_and_go(seed))
        assert is_right(plan, query, before, after), seed
        rows += sum(whole(after, query)[1].values())
    assert rows or not plan.anchors, "a result without rows proves nothing"
