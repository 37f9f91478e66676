"""Joins of three inputs, of every kind and order: what is followed is refreshed as the whole query gives it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product

import pytest

from airflow_refresh_provider.core.maintain.analysis import maintenance
from tests.unit.maintain.catalogue import INPUTS
from tests.unit.maintain.keyed import is_right, random_changes

TABLES = {name: INPUTS[name] for name in ("a", "b", "c")}
OUTER = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
KINDS = (*OUTER, "LEFT SEMI JOIN", "LEFT ANTI JOIN")
SECOND = (
    "a.g = c.g",
    "b.g = c.g",
    "a.k = c.k AND b.g = c.g",
    "a.k <=> c.k",
    "coalesce(a.k, b.k) = c.k",
    "coalesce(b.h, 1) = c.k",
)
ROUNDS = 12


def joins() -> Iterator[tuple[str, str]]:
    """FROM clauses of three tables, and the tables whose columns they have: not those of semi and anti joins."""
    for one, other, on in product(KINDS, KINDS, SECOND):
        if one in OUTER or "b." not in on:
            seen = f"a{'b' * (one in OUTER)}{'c' * (other in OUTER)}"
            yield f"FROM a {one} b ON a.k = b.k {other} c ON {on}", seen
    for one, other in product(OUTER, KINDS):
        yield f"FROM c {one} a ON c.g = a.g {other} b ON a.k = b.k", f"ca{'b' * (other in OUTER)}"
        yield f"FROM a {one} b ON coalesce(a.h, 1) = b.k {other} c ON c.g = a.g", f"ab{'c' * (other in OUTER)}"
    for one, other in product(OUTER, OUTER):
        yield f"FROM a {one} (b {other} c ON b.g = c.g) ON a.k = b.k", "abc"
    for one, value in product(OUTER, ("coalesce(b.h, 1) = a.g", "coalesce(a.h, 1) = b.g", "a.h + 1 = b.g")):
        yield f"FROM a {one} b ON a.k = b.k WHERE {value}", "ab"


def joins_with_using() -> Iterator[tuple[str, str]]:
    for one, other in product(KINDS, KINDS):
        seen = f"a{'b' * (one in OUTER)}{'c' * (other in OUTER)}"
        yield f"FROM a {one} b USING (k) {other} c USING (k)", seen
    for one, other in product(OUTER, OUTER):
        yield f"FROM a {one} (b {other} c USING (g)) ON a.k = b.k", "abc"


def views() -> Iterator[str]:
    """Rows, and aggregates, of each FROM clause."""
    yield from (
        f"SELECT k AS x, count(*) AS n {from_} GROUP BY k" for from_, _ in joins_with_using() if "USING (k)" in from_
    )
    for from_, seen in (*joins(), *joins_with_using()):
        yield f"SELECT {seen[-1]}.g AS x, count(*) AS n {from_} GROUP BY {seen[-1]}.g"
        yield f"SELECT {', '.join(f'{t}.k AS {t}k, {t}.g AS {t}g' for t in seen)} {from_}"
        yield f"SELECT {seen[0]}.k AS x, count(*) AS n, max({seen[-1]}.g) AS m {from_} GROUP BY {seen[0]}.k"
        if {"a", "b"} <= {*seen}:
            yield f"SELECT coalesce(a.k, b.k) AS x, count(*) AS n {from_} GROUP BY coalesce(a.k, b.k)"


VIEWS = tuple(views())


def test_there_are_hundreds_of_them_and_most_are_followed() -> None:
    followed = [view for view in VIEWS if maintenance(view, TABLES, []).anchors]
    assert len(VIEWS) > 480
    assert len(followed) > len(VIEWS) / 2


@pytest.mark.parametrize("part", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 24))])
def test_what_is_followed_is_what_the_query_gives(part: int) -> None:
    chance = random.Random(part)
    shuffled = chance.sample(VIEWS, len(VIEWS))
    wrong = [view for view in shuffled[part::24] if not always_right(view)]
    assert wrong == []


def always_right(view: str) -> bool:
    """After several random changes; a view that follows nothing is right."""
    plan = maintenance(view, TABLES, [])
    return not plan.anchors or all(is_right(plan, view, *random_changes(seed, TABLES)) for seed in range(ROUNDS))
