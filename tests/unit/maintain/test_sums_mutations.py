"""Each rule by which results are added up matters: without it some of them would be wrong."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from airflow_refresh_provider.core.maintain import sums
from airflow_refresh_provider.testing import memory_sums
from tests.unit.maintain.test_sums import is_right, sums_of

ROUNDS = 60
JOINED = "sale o LEFT JOIN buyer c ON o.customer = c.customer GROUP BY o.customer"
Mutate = Callable[[pytest.MonkeyPatch], None]


def nullable_sides_are_linear(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(sums, "_linear", lambda block: [r.leaf for r in block.scope.sources.values()])


def sums_are_never_in_doubt(patch: pytest.MonkeyPatch) -> None:
    real = sums._counted_by
    patch.setattr(sums, "_counted_by", lambda argument, found: real(argument, found) or found.rows[0])


def ends_are_never_in_doubt(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(memory_sums, "_lost", lambda *_: False)


@pytest.mark.parametrize(
    ("mutate", "query"),
    [
        (nullable_sides_are_linear, f"SELECT o.customer, count(*) AS n, count(c.country) AS c FROM {JOINED}"),
        (sums_are_never_in_doubt, "SELECT customer, count(*) AS n, sum(amount) AS s FROM sale GROUP BY customer"),
        (ends_are_never_in_doubt, "SELECT customer, count(*) AS n, min(amount) AS s FROM sale GROUP BY customer"),
        (ends_are_never_in_doubt, "SELECT customer, count(*) AS n, max(amount) AS s FROM sale GROUP BY customer"),
    ],
)
def test_a_lost_rule_is_found(mutate: Mutate, query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _all_right(query), "before the mutation"
    mutate(monkeypatch)
    assert not _all_right(query)


def _all_right(query: str) -> bool:
    found = sums_of(query)
    if found is None:
        return True
    try:
        for seed in range(ROUNDS):
            is_right(query, found, random.Random(seed))
    except AssertionError:
        return False
    return True
