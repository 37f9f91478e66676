"""Incremental refreshes of joins and aggregates: only the rows that the changes touch are computed again."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import pytest

from airflow_refresh_provider.core.definition.columns import Column, Columns
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import Rows, RunResult
from airflow_refresh_provider.errors import Invalid
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.testing.memory_control import MemoryControlStore
from airflow_refresh_provider.testing.memory_lake import MemoryLake
from airflow_refresh_provider.testing.memory_ports import memory_ports

NAME, TARGET = "revenue", "/gold/revenue"
ONE = Request(workers=1)
REVENUE = (
    "SELECT c.k, c.name, count(o.id) AS orders, sum(o.total) AS revenue FROM customers c LEFT JOIN orders o "
    "ON o.customer = c.k GROUP BY c.k, c.name"
)


def columns(**types: str) -> Columns:
    return tuple(Column(name=name, type=type_) for name, type_ in types.items())


class Shop:
    """Customers and their orders."""

    def __init__(self, query: str = REVENUE, **changes: Any) -> None:
        self.lake = MemoryLake()
        self.lake.create("/in/customers", columns(k="int", name="string"), [customer(k) for k in range(5)])
        orders = [order(number, number % 4) for number in range(8)]
        self.lake.create("/in/orders", columns(id="int", customer="int", total="int"), orders)
        self.refreshes = Refreshes(memory_ports(self.lake, MemoryControlStore(), set()))
        self.register(query, **changes)

    def register(self, query: str = REVENUE, **changes: Any) -> None:
        given: dict[str, Any] = {
            "name": NAME,
            "target": TARGET,
            "query": query,
            "inputs": {name: {"path": f"/in/{name}"} for name in ("customers", "orders")},
            "keys": ["k"],
            "mode": "incremental",
            "max_delete_ratio": 1.0,
        }
        self.refreshes.register(Definition.build(**(given | changes)))

    def run(self) -> RunResult:
        """A refresh, after which a comparison of everything finds no difference."""
        result = self.refreshes.run(NAME, ONE)
        assert self.refreshes.compare_only(NAME, 3).equal
        return result


def customer(k: int, name: str = "a") -> dict[str, Any]:
    return {"k": k, "name": name}


def order(number: int, of: int | None, total: int = 10) -> dict[str, Any]:
    return {"id": number, "customer": of, "total": total}


def test_only_the_groups_of_changed_rows_are_computed_again() -> None:
    shop = Shop()
    assert shop.run().rows == Rows(inserted=5)
    shop.lake.append("/in/orders", [order(20, 1), order(21, 4)])
    result = shop.run()
    assert (result.mode, result.rows) == ("incremental", Rows(updated=2, unchanged=3))
    shop.lake.rewrite("/in/customers", lambda row: None if row["k"] == 2 else row)
    result = shop.run()
    assert (result.mode, result.rows) == ("incremental", Rows(deleted=1, unchanged=4))


def test_a_row_that_moves_changes_both_groups() -> None:
    shop = Shop()
    shop.run()
    shop.lake.rewrite("/in/orders", lambda row: row | {"customer": 3} if row["id"] == 0 else row)
    assert shop.run().rows == Rows(updated=2, unchanged=3)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("options", [{}, {"layout": "vnode", "vnodes": 4}])
def test_after_any_changes_the_target_equals_the_query(seed: int, options: dict[str, Any]) -> None:
    chance = random.Random(seed)
    shop = Shop(**options)
    shop.run()
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
    shop.run()
    shop.lake.append("/in/orders", [order(50, 1)])
    assert shop.run().mode == "incremental"
    shop.lake.append("/in/orders", [order(60 + k, k) for k in range(3)])
    result = shop.run()
    assert result.mode == "full" and "touch 3 values of k" in (result.mode_reason or "")


def _without(number: int, row: dict[str, Any]) -> dict[str, Any] | None:
    return None if row["id"] == number else row


def test_an_input_that_cannot_be_followed_is_refused_or_has_everything_compared() -> None:
    query = "SELECT k, name, (SELECT max(total) FROM orders) AS most FROM customers"
    with pytest.raises(Invalid) as raised:
        Shop(query)
    assert raised.value.code == "not_incremental" and "line 1, column 25" in raised.value.message
    shop = Shop(query, mode="auto")
    shop.run()
    shop.lake.append("/in/customers", [customer(9)])
    assert shop.run().mode == "incremental"
    shop.lake.append("/in/orders", [order(30, 1, 99)])
    result = shop.run()
    assert result.mode == "full" and "a subquery" in (result.mode_reason or "")
