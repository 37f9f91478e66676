"""Incremental refreshes of counts and sums of groups: only the changed rows of an input are read, and added."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import pytest

from airflow_refresh_provider.core.plan.plan import StagedTable
from airflow_refresh_provider.core.run.results import Rows
from airflow_refresh_provider.ports.tasks import TouchTask, WindowTask
from airflow_refresh_provider.testing.memory_engine import MemoryEngine, MemorySession
from airflow_refresh_provider.testing.memory_query import MemoryQueries
from airflow_refresh_provider.testing.memory_table import Rows as StoredRows
from tests.unit.runner.shop import Shop, customer, order

TOTALS = (
    "SELECT c.k, count(*) AS orders, count(o.total) AS known, sum(o.total) AS revenue, max(o.total) AS most "
    "FROM orders o JOIN customers c ON o.customer = c.k GROUP BY c.k"
)


class WatchingEngine(MemoryEngine):
    """Counts how often rows are added up, and how often touched values are looked for. `off`: adds one too many."""

    added_up, touched, off = 0, 0, 0

    def open(self, session_id: str) -> MemorySession:
        self.lake.step("open session")
        return WatchingSession(self, session_id)


class WatchingSession(MemorySession):
    def __init__(self, engine: WatchingEngine, session_id: str) -> None:
        super().__init__(engine, session_id)
        self._watching = engine
        if engine.off:
            self._queries = WrongQueries(engine.lake)

    def read_windows(self, task: WindowTask) -> StagedTable:
        self._watching.added_up += 1
        return super().read_windows(task)

    def touch(self, task: TouchTask) -> Any:
        self._watching.touched += 1
        return super().touch(task)


class WrongQueries(MemoryQueries):
    def sides(self, source: Any, changes: Any) -> tuple[StoredRows, StoredRows]:
        went, came = super().sides(source, changes)
        return went, tuple(row | {"orders": row["orders"] + 1} for row in came)


@pytest.fixture
def shop() -> Shop:
    """After a first refresh and a verified one."""
    found = Shop(TOTALS)
    found.begin()
    return found


def watched(shop: Shop) -> WatchingEngine:
    engine = WatchingEngine(shop.lake)
    shop.use(engine)
    return engine


def test_rows_that_came_are_added_to_their_groups(shop: Shop) -> None:
    engine = watched(shop)
    shop.lake.append("/in/orders", [order(20, 1), order(21, 4, 99)])
    result = shop.run()
    assert (result.mode, result.rows) == ("incremental", Rows(inserted=1, updated=1, unchanged=3))
    assert (engine.added_up, engine.touched) == (1, 0)


def test_rows_that_went_are_subtracted_and_a_group_without_rows_is_deleted(shop: Shop) -> None:
    engine = watched(shop)
    shop.lake.append("/in/orders", [order(20, 1, 50)])
    shop.run()
    shop.lake.rewrite("/in/orders", lambda row: None if row["id"] in (1, 2, 6) else row)
    assert shop.run().rows == Rows(updated=1, deleted=1, unchanged=2)
    assert (engine.added_up, engine.touched) == (2, 0)


def test_where_the_greatest_value_went_the_group_is_computed_again(shop: Shop) -> None:
    engine = watched(shop)
    shop.lake.append("/in/orders", [order(20, 1, 50)])
    shop.run()
    shop.lake.rewrite("/in/orders", lambda row: None if row["id"] == 20 else row)
    result = shop.run()
    assert (result.mode_code, result.touched, result.rows) == ("verification", 1, Rows(updated=1, unchanged=3))
    assert (engine.added_up, engine.touched) == (2, 1)


def test_changes_of_two_inputs_are_not_added_up(shop: Shop) -> None:
    engine = watched(shop)
    shop.lake.append("/in/orders", [order(20, 9)])
    shop.lake.append("/in/customers", [customer(9)])
    assert shop.run().mode_code == "verification", "by touched values for the first time"
    assert (engine.added_up, engine.touched) == (0, 1)
    shop.lake.append("/in/orders", [order(21, 9)])
    assert shop.run().mode == "incremental", "both ways are trusted now"
    assert (engine.added_up, engine.touched) == (1, 1)


def test_a_sum_without_a_count_is_not_subtracted_from() -> None:
    shop = Shop(
        "SELECT c.k, count(*) AS n, sum(o.total) AS s FROM orders o JOIN customers c ON o.customer = c.k GROUP BY 1"
    )
    shop.begin()
    engine = watched(shop)
    shop.lake.append("/in/orders", [order(20, 1)])
    shop.run()
    assert (engine.added_up, engine.touched) == (1, 0)
    shop.lake.rewrite("/in/orders", lambda row: None if row["id"] == 20 else row)
    assert shop.run().mode_code in ("changes", "verification")
    assert (engine.added_up, engine.touched) == (1, 1), "that is known before anything is read"


def test_where_groups_are_kept_without_rows_they_are_not_added_to() -> None:
    shop = Shop(TOTALS, deletes="ignore")
    shop.begin()
    engine = watched(shop)
    shop.lake.rewrite("/in/orders", lambda row: None if row["customer"] == 2 else row)
    shop.lake.append("/in/orders", [order(20, 2)])
    shop.run()
    assert engine.added_up == 0


def test_why_a_group_was_computed_again_is_said(shop: Shop) -> None:
    engine = watched(shop)
    for number in (20, 21):  # the first time by touched values is verified, and needs no other reason
        shop.lake.append("/in/orders", [order(number, 1, 50)])
        assert shop.run().notices == ()
        shop.lake.rewrite("/in/orders", partial(_without, number))
        result = shop.run()
    assert [notice.code for notice in result.notices] == ["not_added_up"]
    assert "those that went" in result.notices[0].message and engine.touched == 2


def test_a_wrong_sum_is_found_by_the_verification() -> None:
    shop = Shop(TOTALS)
    engine = WatchingEngine(shop.lake)
    engine.off = 1
    shop.use(engine)
    shop.run()
    shop.lake.append("/in/orders", [order(20, 1)])
    result = shop.run()
    assert "verification_failed" in [notice.code for notice in result.notices]
    shop.lake.append("/in/orders", [order(21, 1)])
    assert shop.run().mode_code == "verification_failed"


def _without(number: int, row: dict[str, Any]) -> dict[str, Any] | None:
    return None if row["id"] == number else row


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("options", [{}, {"layout": "vnode", "vnodes": 4}])
def test_after_any_changes_the_target_equals_the_query(seed: int, options: dict[str, Any]) -> None:
    chance = random.Random(seed)
    shop = Shop(TOTALS, **options)
    shop.begin()
    for number in range(100, 106):
        total = chance.choice([None, 1, 5, 9])
        shop.lake.append("/in/orders", [order(number, chance.choice([0, 1, 2, None]), total)])  # type: ignore[arg-type]
        if chance.random() < 0.6:
            gone = chance.randrange(number)
            shop.lake.rewrite("/in/orders", partial(_without, gone))
        assert shop.run().mode_code in ("changes", "verification"), "a group in doubt may be the first one touched"


def test_a_verified_refresh_may_delete_a_group() -> None:
    shop = Shop(TOTALS, verify_every=1)
    shop.begin()
    shop.lake.rewrite("/in/orders", lambda row: None if row["customer"] == 2 else row)
    result = shop.run()
    assert (result.mode_code, result.rows.deleted, result.notices) == ("verification", 1, ())


def test_what_was_verified_is_foreseen_to_be_added_up(shop: Shop) -> None:
    shop.lake.append("/in/orders", [order(20, 1)])
    result = shop.run()
    assert result.mode_code == "changes"
    assert result.foreseen is not None and result.foreseen.code == "changes"
