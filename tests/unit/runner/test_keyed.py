"""Incremental refreshes of joins and aggregates: only the rows that the changes touch are computed again."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import pytest

from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import Rows
from airflow_refresh_provider.errors import Failed, Invalid, Refused
from airflow_refresh_provider.ports.tasks import TouchTask
from airflow_refresh_provider.testing.memory_engine import MemoryEngine, MemorySession
from airflow_refresh_provider.testing.memory_lake import MemoryLake
from airflow_refresh_provider.testing.memory_query import MemoryQueries
from airflow_refresh_provider.testing.memory_table import Rows as StoredRows
from tests.unit.runner.faults import at, full_disk, not_accepted
from tests.unit.runner.shop import NAME, REVENUE, TARGET, Shop, customer, order

LATEST = "SELECT o.customer AS k, o.id, c.name FROM orders o JOIN customers c ON c.k = o.customer"


class ForgetfulEngine(MemoryEngine):
    """Finds only some of the touched values, as a wrong analysis would."""

    def __init__(self, lake: MemoryLake, kept: int) -> None:
        super().__init__(lake)
        self.kept = kept

    def open(self, session_id: str) -> MemorySession:
        session = super().open(session_id)
        session._queries = ForgetfulQueries(self.lake, self.kept)
        return session


class ForgetfulQueries(MemoryQueries):
    def __init__(self, lake: MemoryLake, kept: int) -> None:
        super().__init__(lake)
        self._kept = kept

    def touched(self, task: TouchTask) -> StoredRows:
        return super().touched(task)[: self._kept]


def test_only_the_groups_of_changed_rows_are_computed_again() -> None:
    shop = Shop()
    shop.begin()
    shop.lake.append("/in/orders", [order(20, 1), order(21, 4)])
    result = shop.run()
    assert (result.mode, result.rows, result.touched) == ("incremental", Rows(updated=2, unchanged=3), 2)
    shop.lake.rewrite("/in/customers", lambda row: None if row["k"] == 2 else row)
    result = shop.run()
    assert (result.mode, result.rows) == ("incremental", Rows(deleted=1, unchanged=4))


def test_a_row_that_moves_changes_both_groups() -> None:
    shop = Shop()
    shop.begin()
    shop.lake.rewrite("/in/orders", lambda row: row | {"customer": 3} if row["id"] == 0 else row)
    assert shop.run().rows == Rows(updated=2, unchanged=3)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("options", [{}, {"layout": "vnode", "vnodes": 4}])
def test_after_any_changes_the_target_equals_the_query(seed: int, options: dict[str, Any]) -> None:
    chance = random.Random(seed)
    shop = Shop(**options)
    shop.begin()
    for _ in range(3):
        number = chance.randrange(100, 10_000)
        shop.lake.append("/in/orders", [order(number, chance.choice([0, 1, 2, None]), chance.randrange(9))])
        gone = chance.randrange(8)
        shop.lake.rewrite("/in/orders", partial(_without, gone))
        if chance.random() < 0.5:
            shop.lake.rewrite("/in/customers", lambda row: row | {"name": chance.choice("xyz")})
        assert shop.run().mode == "incremental"


def test_mode_auto_computes_everything_where_nearly_all_is_touched() -> None:
    shop = Shop(mode="auto")
    shop.begin()
    shop.lake.append("/in/orders", [order(50, 1)])
    assert shop.run().mode == "incremental"
    shop.lake.append("/in/orders", [order(60 + k, k) for k in range(3)])
    result = shop.run()
    assert (result.mode, result.mode_code) == ("full", "too_many_touched")
    assert "touch 3 values of k" in (result.mode_reason or "")


@pytest.mark.parametrize("mode", ["incremental", "auto"])
def test_where_changes_cannot_be_read_everything_is_compared(mode: str) -> None:
    shop = Shop(mode=mode)
    shop.begin()
    shop.lake.append("/in/orders", [order(50, 1)])
    with at(shop.lake, "create memory://staging", not_accepted):
        result = shop.run()
    assert (result.mode, result.mode_code) == ("full", "changes_unreadable")
    assert "the changes of the inputs cannot be read: the target does not accept" in (result.mode_reason or "")
    shop.lake.append("/in/orders", [order(51, 1)])
    assert shop.run().mode == "incremental"


def test_a_full_disk_does_not_have_everything_compared() -> None:
    shop = Shop()
    shop.begin()
    shop.lake.append("/in/orders", [order(50, 1)])
    with at(shop.lake, "create memory://staging", full_disk), pytest.raises(Failed, match="no space"):
        shop.run()
    result = shop.run()
    assert (result.mode, result.resumed) == ("incremental", True)


def test_the_newest_row_of_a_key_is_followed_through_a_join() -> None:
    shop = Shop(LATEST, on_duplicate="latest", latest_by="id")
    shop.begin()
    newest = _newest(shop)
    assert newest[1] == (5, "a")

    shop.lake.rewrite("/in/orders", lambda row: None if row["id"] == 5 else row)
    assert (shop.run().mode, _newest(shop)) == ("incremental", newest | {1: (1, "a")})
    shop.lake.append("/in/orders", [order(0, 1)])
    shop.lake.rewrite("/in/customers", lambda row: row | {"name": "b"} if row["k"] == 1 else row)
    result = shop.run()
    assert (result.mode, result.rows) == ("incremental", Rows(updated=1, unchanged=3))
    assert _newest(shop) == newest | {1: (1, "b")}


def test_mode_auto_follows_changes_of_a_result_that_leaves_most_values_out() -> None:
    large = REVENUE.replace("LEFT JOIN", "JOIN") + " HAVING sum(o.total) > 25"
    shop = Shop(large, mode="auto")
    shop.lake.append("/in/orders", [order(number, 100 + number) for number in range(100, 200)])
    shop.lake.append("/in/customers", [customer(100 + number) for number in range(100, 200)])
    shop.lake.append("/in/orders", [order(number, 3, 9) for number in range(200, 203)])
    shop.begin()
    assert len(shop.lake.rows(TARGET)) == 2

    shop.lake.append("/in/orders", [order(300 + k, 100 + k) for k in range(100, 110)])
    result = shop.run()
    assert (result.mode, result.touched, result.rows) == ("incremental", 10, Rows(unchanged=2))
    shop.lake.append("/in/orders", [order(400 + k, k) for k in (0, 3)])
    assert shop.run().mode_code == "too_many_touched", "of the values that are there"


def _newest(shop: Shop) -> dict[int, tuple[int, str]]:
    return {row["k"]: (row["id"], row["name"]) for row in shop.lake.rows(TARGET)}


def _without(number: int, row: dict[str, Any]) -> dict[str, Any] | None:
    return None if row["id"] == number else row


def test_an_input_that_cannot_be_followed_is_refused_or_has_everything_compared() -> None:
    query = "SELECT k, name, (SELECT max(total) FROM orders) AS most FROM customers"
    with pytest.raises(Invalid) as raised:
        Shop(query)
    assert raised.value.code == "not_incremental" and "line 1, column 25" in raised.value.message
    shop = Shop(query, mode="auto")
    shop.run()
    shop.lake.append("/in/customers", [customer(8)])
    assert shop.run().mode_code == "verification"
    shop.lake.append("/in/customers", [customer(9)])
    assert shop.run().mode == "incremental"
    shop.lake.append("/in/orders", [order(30, 1, 99)])
    result = shop.run()
    assert (result.mode, result.mode_code) == ("full", "not_followed")
    assert "an aggregate of all rows" in (result.mode_reason or "")


def test_the_refusal_of_a_query_says_how_it_would_be_followed() -> None:
    with pytest.raises(Invalid) as raised:
        Shop("SELECT k, name FROM customers WHERE k NOT IN (SELECT customer FROM orders)")
    assert raised.value.code == "not_incremental"
    assert raised.value.next.startswith("Write customers.k NOT IN (...) as NOT EXISTS")
    assert raised.value.next.endswith("Else use mode: auto, which compares everything where necessary, or mode: full.")


def test_where_inputs_are_not_made_yet_the_first_refresh_refuses() -> None:
    shop = Shop()
    shop.register(
        "SELECT k, (SELECT max(revenue) FROM revenue) AS most FROM customers",
        name="most",
        target="/gold/most",
        inputs={"customers": {"path": "/in/customers"}, "revenue": {"path": TARGET}},
    )
    shop.run()
    with pytest.raises(Invalid, match="an aggregate of all rows") as raised:
        shop.refreshes.run("most", Request(workers=1))
    assert raised.value.code == "not_incremental"
    shop.register(
        "SELECT k, revenue FROM revenue WHERE revenue > 10",
        name="most",
        target="/gold/most",
        inputs={"revenue": {"path": TARGET}},
    )
    assert shop.refreshes.run("most", Request(workers=1)).mode_code == "first_refresh"


def test_one_of_so_many_incremental_refreshes_is_verified() -> None:
    shop = Shop(verify_every=3)
    shop.begin()
    codes = []
    for number in range(6):
        shop.lake.append("/in/orders", [order(200 + number, 1)])
        codes.append(shop.run().mode_code)
    assert codes == ["changes", "changes", "verification"] * 2


def test_another_engine_is_verified_again() -> None:
    shop = Shop()
    shop.begin()
    shop.use(MemoryEngine(shop.lake, version="another"))
    for code in ("verification", "changes"):
        shop.lake.append("/in/orders", [order(len(code), 1)])
        assert shop.run().mode_code == code


def test_a_difference_is_repaired_and_ends_incremental_refreshes() -> None:
    shop = Shop(redact_keys=False)
    shop.run()
    shop.use(ForgetfulEngine(shop.lake, kept=1))
    shop.lake.append("/in/orders", [order(20, 1), order(21, 4)])
    result = shop.run()
    assert result.rows.updated == 2
    assert [notice.code for notice in result.notices] == ["verification_failed"]
    assert "1 change, such as k=" in result.notices[0].message
    shop.use(MemoryEngine(shop.lake))
    for _ in range(2):
        shop.lake.append("/in/orders", [order(22, 1)])
        assert shop.run().mode_code == "verification_failed"
    shop.register(query=f"{REVENUE} HAVING count(*) < 1000")
    shop.run()
    shop.lake.append("/in/orders", [order(23, 1)])
    assert shop.run().mode_code == "verification"


def test_the_newest_row_is_not_found_by_its_key_any_more_once_that_differed() -> None:
    orders = {"orders": {"path": "/in/orders"}}
    newest = {"inputs": orders, "on_duplicate": "latest", "latest_by": "id"}
    shop = Shop("SELECT customer AS k, id FROM orders", **newest)
    shop.run()
    shop.use(ForgetfulEngine(shop.lake, kept=1))
    shop.lake.rewrite("/in/orders", lambda row: None if row["id"] in (6, 7) else row)
    assert [notice.code for notice in shop.run().notices] == ["verification_failed"]
    shop.use(MemoryEngine(shop.lake))
    shop.lake.rewrite("/in/orders", lambda row: None if row["id"] == 5 else row)
    assert shop.run().mode_code == "verification_failed"
    shop.lake.append("/in/orders", [order(9, 1)])
    assert shop.run().mode == "incremental"


def test_a_difference_shows_no_keys_where_these_are_redacted() -> None:
    shop = Shop()
    shop.run()
    shop.use(ForgetfulEngine(shop.lake, kept=0))
    shop.lake.append("/in/orders", [order(20, 1)])
    (notice,) = shop.run().notices
    assert "such as #" in notice.message and "k=" not in notice.message


def test_a_strict_run_fails_instead_of_reading_everything() -> None:
    shop = Shop()
    strict = Request(workers=1, strict=True)
    with pytest.raises(Refused) as raised:
        shop.refreshes.run(NAME, strict)
    assert raised.value.code == "full_refresh_needed" and "[first_refresh]" in raised.value.message
    shop.begin()
    shop.lake.append("/in/orders", [order(30, 1)])
    assert shop.refreshes.run(NAME, strict).mode == "incremental"


def test_a_strict_run_that_finds_out_later_leaves_a_run_that_another_may_end() -> None:
    shop = Shop(mode="auto")
    shop.begin()
    shop.lake.append("/in/orders", [order(60 + k, k) for k in range(3)])
    with pytest.raises(Refused, match=r"too_many_touched"):
        shop.refreshes.run(NAME, Request(workers=1, strict=True))
    assert shop.run().mode_code == "too_many_touched"


def test_changes_of_columns_that_are_not_read_touch_nothing() -> None:
    query = "SELECT c.k, count(o.id) AS orders FROM customers c LEFT JOIN orders o ON o.customer = c.k GROUP BY c.k"
    shop = Shop(query)
    shop.begin()
    shop.lake.rewrite("/in/orders", lambda row: row | {"total": row["total"] + 1})
    result = shop.run()
    assert (result.mode, result.touched, result.rows) == ("incremental", 0, Rows(unchanged=5))


def test_mode_auto_learns_how_many_rows_a_value_stands_for() -> None:
    query = (
        "SELECT o.id, o.total, rank() OVER (PARTITION BY o.customer ORDER BY o.id) AS place, o.customer FROM orders o"
    )
    shop = Shop(query, keys=["id"], inputs={"orders": {"path": "/in/orders"}}, mode="auto")
    shop.run()
    codes = []
    for number in range(2):
        shop.lake.append("/in/orders", [order(100 + number, 1)])
        codes.append(shop.run().mode_code)
    assert codes == ["verification", "too_many_touched"]
