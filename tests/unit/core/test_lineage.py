"""Definitions upstream and downstream of one."""

from __future__ import annotations

from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.timing.lineage import lineage, reads, sources


def reading(name: str, *places: str) -> Definition:
    query = "SELECT a.k FROM " + " CROSS JOIN ".join(f"`i{n}` `{'abc'[n]}`" for n in range(len(places)))
    inputs = {f"i{n}": {"path": place} for n, place in enumerate(places)}
    return Definition.build(name=name, target=f"/gold/{name}", query=query, inputs=inputs, keys=["k"])


def test_every_definition_has_its_fewest_steps() -> None:
    found = [
        reading("orders", "/raw/orders"),
        reading("daily", "/gold/orders"),
        reading("monthly", "/gold/daily", "/gold/orders"),
        reading("report", "/gold/monthly"),
        reading("other", "/raw/orders"),
    ]
    assert lineage(reads(found), "monthly") == ({"daily": 1, "orders": 1}, {"report": 1})
    assert lineage(reads(found), "orders") == ({}, {"daily": 1, "monthly": 1, "report": 2})
    assert lineage(reads(found), "other") == ({}, {})


def test_a_circle_ends() -> None:
    found = [reading("a", "/gold/b"), reading("b", "/gold/a")]
    assert lineage(reads(found), "a") == ({"b": 1}, {"b": 1})


def test_what_definitions_read_is_another_definition_or_a_source() -> None:
    found = [reading("daily", "/raw/orders", "/raw/names"), reading("monthly", "/gold/daily", "/raw/names")]
    assert reads(found) == {"daily": (), "monthly": ("daily",)}
    assert sources(found, ["monthly"]) == {"/raw/names": [("monthly", "i1")]}
    assert sources(found, ["daily", "monthly"]) == {
        "/raw/orders": [("daily", "i0")],
        "/raw/names": [("daily", "i1"), ("monthly", "i1")],
    }
