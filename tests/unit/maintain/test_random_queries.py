"""Random queries: what is followed of them is refreshed as the whole query gives it, by any of their columns."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import duckdb
import pytest

from airflow_refresh_provider.core.maintain.analysis import maintenance
from airflow_refresh_provider.core.maintain.plan import Maintenance
from tests.unit.maintain.keyed import NUMBERS, Inputs, Row, is_right, other_tables
from tests.unit.maintain.random_queries import TABLES, RandomQueries

PART = 40
ROUNDS = 16


@pytest.mark.parametrize("part", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 25))])
def test_what_is_followed_is_what_the_query_gives(part: int) -> None:
    found = [ended(RandomQueries(seed)) for seed in range(PART * part, PART * (part + 1))]
    assert [query for query, end in found if end == "wrong"] == []
    ends = Counter(end for _, end in found)
    assert ends["right"] > PART / 3
    assert ends["not run"] <= PART / 10


def ended(made: RandomQueries) -> tuple[str, str]:
    """A query, and how it ended. In a database of its own: some queries are the end of DuckDB's."""
    query, names = made.query()
    with other_tables(TABLES):
        plans = list(plans_of(query, names))
        try:
            right = all(is_right(plan, query, *one_change(seed)) for plan in plans for seed in range(ROUNDS))
        except duckdb.Error:
            return query, "not run"
    return query, ("right" if plans else "not followed") if right else "wrong"


def plans_of(query: str, names: list[str]) -> Iterator[Maintenance]:
    """How it is followed by any of its columns, and by each one."""
    found = [maintenance(query, TABLES, keys) for keys in ([], *([name] for name in names))]
    yield from {plan.anchors: plan for plan in found if plan.anchors}.values()


def one_change(seed: int) -> tuple[Inputs, Inputs]:
    """Inputs before and after one row of one of them was removed, added or replaced: more would touch most values."""
    chance = random.Random(seed)
    old = {name: [_row(chance, name) for _ in range(chance.randint(2, 6))] for name in TABLES}
    name = chance.choice(sorted(old))
    kept = chance.sample(old[name], len(old[name]) - chance.choice((0, 1, 1)))
    more = len(kept) == len(old[name]) or chance.random() < 0.5
    return old, {**old, name: [*kept, *([_row(chance, name)] if more else ())]}


def _row(chance: random.Random, name: str) -> Row:
    return tuple(chance.choice(NUMBERS) for _ in TABLES[name])
