"""The analysis of a query that an open page asks for again and again."""

from __future__ import annotations

import json

from airflow_refresh_provider.core.run.explanation import Explanation
from airflow_refresh_provider.runner.facts.maintaining import advised
from tests.unit.runner.shop import NAME, REVENUE, Shop


def explained(shop: Shop) -> tuple[Explanation, int]:
    """The explanation, and how many analyses were made for it."""
    before = advised.cache_info().misses
    return shop.refreshes.explain(NAME), advised.cache_info().misses - before


def test_a_query_is_analysed_once_until_it_is_another_one() -> None:
    shop = Shop()
    shop.begin()
    advised.cache_clear()
    first, analyses = explained(shop)
    assert analyses == 1
    assert explained(shop) == (first, 0)
    shop.register(f"{REVENUE} LIMIT 3", mode="auto")
    other, _ = explained(shop)
    assert other.inputs != first.inputs


def test_other_columns_of_an_input_are_analysed_by_themselves() -> None:
    shop = Shop("SELECT k, name, total FROM customers JOIN orders ON customer = k", keys=["k"])
    definition = shop.record.definition.model_dump_json()
    customers = {"k": "int", "name": "string"}
    for orders in ({"customer": "int", "total": "int"}, {"customer": "int"}):
        columns = json.dumps({"customers": customers, "orders": orders})
        assert advised(definition, columns) == advised.__wrapped__(definition, columns)
    assert advised.cache_info().currsize >= 2
