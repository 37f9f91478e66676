"""A result that is added up in DuckDB from the rows that went and came, beside what the whole query gives."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from airflow_refresh_provider.core.definition.columns import DOUBTFUL
from airflow_refresh_provider.core.maintain.plan import Sums
from airflow_refresh_provider.testing.memory_sums import added_up
from tests.unit.maintain.keyed import Inputs, Row, whole

Groups = dict[Row, dict[str, Any]]


def decided(
    query: str, sums: Sums, chance: random.Random, names: Sequence[str], rows: Callable[[str, int], list[Row]]
) -> int:
    """How many groups the changed rows of one input decide; each as the whole query has it, else AssertionError.

    `rows` makes at most so many rows of an input.
    """
    before: Inputs = {name: rows(name, 6) for name in names}
    changed, keep = chance.choice(sorted(sums.inputs)), chance.choice((1.0, 0.6))
    went = [row for row in before[changed] if chance.random() > keep]
    came = rows(changed, 3)
    after = {**before, changed: [*(Counter(before[changed]) - Counter(went)).elements(), *came]}
    of_went, of_came = ({**before, changed: side} for side in (went, came))
    return _decided([_groups(inputs, query, sums) for inputs in (before, after, of_went, of_came)], sums)


def _decided(groups: list[Groups], sums: Sums) -> int:
    now, new, went, came = groups
    found = 0
    for key in {*now, *new}:
        op, row = added_up(now.get(key, {}), went.get(key, {}), came.get(key, {}), sums)
        if key not in went and key not in came:
            assert now.get(key) == new.get(key)
        elif op != DOUBTFUL:
            found += 1
            assert (row if op != "D" else None) == new.get(key), (op, key, now.get(key))
    return found


def _groups(inputs: Inputs, query: str, sums: Sums) -> Groups:
    names, found = whole(inputs, query)
    rows = (dict(zip(names, row, strict=True)) for row in found)
    return {tuple(v for n, v in row.items() if n not in sums.columns): row for row in rows}
