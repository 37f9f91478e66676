"""Totals: a result of one row, named by a constant, is added up from the changed rows (ADR 70)."""

from __future__ import annotations

import random
from typing import Any

import pytest

from airflow_refresh_provider.core.run.results import Rows
from airflow_refresh_provider.errors import Invalid
from airflow_refresh_provider.views.explanation_lines import how_followed
from tests.unit.runner.shop import TARGET, Shop, customer, order

TOTALS = (
    "SELECT 'all' AS k, count(*) AS n, count(o.total) AS known, sum(o.total) AS revenue, max(o.total) AS most "
    "FROM orders o JOIN customers c ON o.customer = c.k"
)


def refreshed(query: str = TOTALS, **changes: Any) -> Shop:
    """After a first refresh and a verified one."""
    shop = Shop(query, **changes)
    shop.run()
    shop.lake.append("/in/orders", [order(19, 1, 9)])
    assert shop.run().mode_code == "verification"
    return shop


def total(shop: Shop) -> dict[str, Any]:
    [row] = shop.lake.rows(TARGET)
    return dict(row)


@pytest.mark.parametrize("query", [TOTALS, TOTALS + " GROUP BY 1"])
def test_rows_that_came_and_went_are_added_up(query: str) -> None:
    shop = refreshed(query.replace(", max(o.total) AS most", ""))
    before = total(shop)
    shop.lake.append("/in/orders", [order(20, 1, 50), order(21, 77, 3)])
    assert (shop.run().mode, total(shop)["revenue"]) == ("incremental", before["revenue"] + 50)
    shop.lake.rewrite("/in/orders", lambda row: None if row["id"] == 20 else row)
    result = shop.run()
    assert (result.mode, result.rows, result.touched) == ("incremental", Rows(updated=1), 0)
    assert total(shop) == before


@pytest.mark.parametrize(("query", "left"), [(TOTALS, [("all", 0, None)]), (TOTALS + " GROUP BY 1", [])])
def test_without_any_row_there_is_a_total_unless_it_is_that_of_a_group(query: str, left: list[Any]) -> None:
    shop = refreshed(query.replace(", max(o.total) AS most", ""))
    shop.lake.rewrite("/in/orders", lambda _row: None)
    assert shop.run().mode == "incremental"
    assert [(row["k"], row["n"], row["revenue"]) for row in shop.lake.rows(TARGET)] == left
    shop.lake.append("/in/orders", [order(20, 1, 50)])
    assert (shop.run().mode, total(shop)["revenue"]) == ("incremental", 50)


def test_where_the_greatest_value_went_everything_is_compared() -> None:
    shop = refreshed()
    shop.lake.append("/in/orders", [order(20, 1, 500)])
    assert shop.run().mode == "incremental"
    shop.lake.rewrite("/in/orders", lambda row: None if row["id"] == 20 else row)
    result = shop.run()
    assert (result.mode, result.mode_code) == ("full", "doubtful_keys")
    assert "may be one of those that went" in (result.mode_reason or "") and "count" not in (result.mode_reason or "")


def test_changes_of_two_inputs_have_everything_compared() -> None:
    shop = refreshed()
    shop.lake.append("/in/orders", [order(20, 9)])
    shop.lake.append("/in/customers", [customer(9)])
    result = shop.run()
    assert (result.mode, result.mode_code) == ("full", "not_followed")
    assert "an aggregate of all rows" in (result.mode_reason or "")


def test_a_total_that_keeps_what_went_is_not_followed() -> None:
    with pytest.raises(Invalid, match="an aggregate of all rows") as raised:
        Shop(TOTALS, deletes="ignore")
    assert raised.value.code == "not_incremental"


def test_explain_adds_nothing_up_where_deletes_are_ignored() -> None:
    found = Shop(TOTALS, deletes="ignore", mode="auto").refreshes.explain("revenue")
    assert {(one.followed, one.added_up) for one in found.inputs} == {(False, False)}
    by_group = Shop(TOTALS.replace("'all' AS k", "c.k") + " GROUP BY c.k", deletes="ignore").refreshes.explain(
        "revenue"
    )
    assert {(one.followed, one.added_up) for one in by_group.inputs} == {(True, False)}


def test_there_is_no_sample_of_one_row() -> None:
    shop = refreshed(verify_share=0.5)
    shop.lake.append("/in/orders", [order(20, 1, 50)])
    assert shop.run().mode == "incremental"


def test_explain_says_that_it_is_added_up() -> None:
    found = Shop(TOTALS).refreshes.explain("revenue")
    assert {how_followed(one, found) for one in found.inputs} == {
        "add them to the result; where that does not do, compute everything"
    }
    assert (found.anchors, found.follows.value, found.advice) == ((), "every_input", ())


@pytest.mark.parametrize("seed", range(10))
def test_after_any_changes_the_total_is_that_of_the_query(seed: int) -> None:
    chance = random.Random(seed)
    shop = refreshed(mode="auto")
    for number in range(6):
        if chance.random() < 0.6:
            shop.lake.append("/in/orders", [order(100 + 3 * number + i, chance.randrange(6)) for i in range(3)])
        else:
            shop.lake.rewrite("/in/orders", lambda row: None if chance.random() < 0.3 else row)
        shop.run()  # compares the target with its query
