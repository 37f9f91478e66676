"""Random queries over small inputs: joins, subqueries, groups, windows and set operations, inside one another."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TypeVar

T = TypeVar("T")
TABLES = {name: dict.fromkeys(columns, "int") for name, columns in (("a", "kgh"), ("b", "kgh"), ("c", "kgu"))}
_JOINS = ("JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")
_NAMES = ("k", "g", "h", "x", "y")
_VALUES = (
    "coalesce({0}, 1)", "coalesce({0}, 1)", "coalesce({0}, {1})", "{0} + 1", "{0} + {1}", "abs({0})",
    "CASE WHEN {0} > 1 THEN {0} ELSE 2 END", "nullif({0}, 1)",
)  # fmt: skip
_CONDITIONS = (
    "{0} = {1}", "{0} > 0", "{0} IS NULL", "{0} IS NOT NULL", "({0} = 1 OR {1} = 2)", "{0} <=> {1}",
)  # fmt: skip
_AGGREGATES = ("count(*)", "count({})", "max({})", "sum({})", "min({})")


@dataclass
class _From:
    """A FROM clause: its text, the columns that can be selected by alias, and the names in USING."""

    text: str
    columns: dict[str, list[str]]
    merged: list[str] = field(default_factory=list)

    @property
    def values(self) -> list[str]:
        return [f"{alias}.{name}" for alias, names in self.columns.items() for name in names]

    def once(self, name: str) -> bool:
        """Whether the name alone is the one of a column."""
        return sum(name in names for names in self.columns.values()) == 1


class RandomQueries:
    """Makes queries: all columns are integers, and all are qualified but those of USING."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._numbers = count(1)
        self._with: dict[str, list[str]] = {}

    def query(self) -> tuple[str, list[str]]:
        """A query, and the names of its columns."""
        if not self._is(0.2):
            return self._query(2)
        inner, names = self._query(1)
        self._with["w"] = names
        outer, names = self._query(2)
        return f"WITH w AS ({inner}) {outer}", names

    def _is(self, share: float) -> bool:
        return self._chance.random() < share

    def _one(self, of: Sequence[T]) -> T:
        return self._chance.choice(of)

    def _query(self, depth: int) -> tuple[str, list[str]]:
        if not (depth and self._is(0.15)):
            return self._select(depth)
        left, names = self._select(depth - 1)
        right, _ = self._select(depth - 1, len(names))
        return f"{left} {self._one(('UNION ALL', 'UNION', 'EXCEPT', 'INTERSECT'))} {right}", names

    def _select(self, depth: int, columns: int | None = None) -> tuple[str, list[str]]:
        from_ = self._from(depth)
        where = f" WHERE {self._condition(from_, depth)}" if self._is(0.5) else ""
        number = columns or self._one((1, 2, 2, 3))
        names = self._chance.sample(_NAMES, number)
        form = self._chance.random()
        if form < 0.4:
            return self._grouped(from_, where, names), names
        if form < 0.6:
            return self._windowed(from_, where, names), names
        values = [self._output(from_, depth) for _ in names]
        return f"SELECT {'DISTINCT ' * self._is(0.15)}{_listed(values, names)} {from_.text}{where}", names

    def _grouped(self, from_: _From, where: str, names: list[str]) -> str:
        keys = [self._value(from_) for _ in names[: self._one((1, 1, 2))]]
        aggregates = [self._one(_AGGREGATES).format(self._value(from_)) for _ in names[len(keys) :]]
        having = " HAVING count(*) > 1" if self._is(0.15) else ""
        return f"SELECT {_listed([*keys, *aggregates], names)} {from_.text}{where} GROUP BY {', '.join(keys)}{having}"

    def _windowed(self, from_: _From, where: str, names: list[str]) -> str:
        values = [self._value(from_) for _ in names[1:]]
        by = ", ".join([*values, self._value(from_)][: self._one((1, 1, 2))])
        rank = f"rank() OVER (PARTITION BY {by} ORDER BY {self._value(from_)})"
        if values and self._is(0.3):
            listed = _listed([*values, self._value(from_)], names)
            return f"SELECT {listed} {from_.text}{where} QUALIFY {rank} = 1"
        most = f"max({self._value(from_)}) OVER (PARTITION BY {by})"
        return f"SELECT {_listed([*values, self._one((rank, most))], names)} {from_.text}{where}"

    def _from(self, depth: int) -> _From:
        found = self._source(depth)
        for _ in range(self._one((0, 1, 1, 2))):
            found = self._joined(found, self._source(depth), self._one(_JOINS))
        found.text = f"FROM {found.text}"
        return found

    def _source(self, depth: int) -> _From:
        alias = f"t{next(self._numbers)}"
        if depth and self._is(0.3):
            query, names = self._query(depth - 1)
            return _From(f"({query}) {alias}", {alias: names})
        if depth and self._is(0.1):
            inner = self._joined(self._source(0), self._source(0), self._one(_JOINS))
            return _From(f"({inner.text})", inner.columns)
        tables = {**{name: list(columns) for name, columns in TABLES.items()}, **self._with}
        name = self._one(sorted(tables))
        return _From(f"{name} {alias}", {alias: tables[name]})

    def _joined(self, left: _From, right: _From, kind: str) -> _From:
        both = _From("", {**left.columns, **right.columns})
        same = [name for name in _NAMES if left.once(name) and right.once(name)]
        if same and self._is(0.3):
            name = self._one(same)
            on, merged = f"USING ({name})", [name]
        else:
            merged = [name for name in left.merged if not any(name in names for names in right.columns.values())]
            on = f"ON {self._equality(left, right)}"
            on += f" AND {self._comparison(both)}" if self._is(0.25) else ""
        columns = left.columns if "SEMI" in kind or "ANTI" in kind else both.columns
        return _From(f"{left.text} {kind} {right.text} {on}", columns, merged)

    def _equality(self, left: _From, right: _From) -> str:
        sides = [self._value(left), self._value(right)]
        self._chance.shuffle(sides)
        return f" {self._one(('=', '=', '=', '=', '<=>'))} ".join(sides)

    def _value(self, from_: _From) -> str:
        """An expression over the columns of a FROM clause."""
        one, other = self._one(from_.values), self._one(from_.values)
        if from_.merged and self._is(0.4):
            one = self._one(from_.merged)
        return one if self._is(0.6) else self._one(_VALUES).format(one, other)

    def _output(self, from_: _From, depth: int) -> str:
        return self._greatest(from_) if depth and self._is(0.1) else self._value(from_)

    def _greatest(self, around: _From) -> str:
        """A correlated scalar subquery."""
        inner = self._from(0)
        return f"(SELECT max({self._value(inner)}) {self._correlated(inner, around)})"

    def _condition(self, around: _From, depth: int) -> str:
        parts = [self._part(around, depth) for _ in range(self._one((1, 1, 2)))]
        return " AND ".join(parts)

    def _part(self, around: _From, depth: int) -> str:
        form = self._chance.random()
        if not depth or form < 0.5:
            return self._comparison(around)
        if form < 0.7:
            return f"{self._one(('EXISTS', 'NOT EXISTS'))} (SELECT 1 {self._correlated(self._from(0), around)})"
        if form < 0.9:
            query, _ = self._select(0, 1)
            return f"{self._value(around)} IN ({query})"
        return f"{self._value(around)} = {self._greatest(around)}"

    def _comparison(self, from_: _From) -> str:
        return self._one(_CONDITIONS).format(self._value(from_), self._value(from_))

    def _correlated(self, inner: _From, around: _From) -> str:
        """FROM and WHERE of a subquery."""
        outer = _From("", around.columns)  # the name alone of a column in USING may be one of the subquery
        more = f" AND {self._comparison(inner)}" if self._is(0.3) else ""
        return f"{inner.text} WHERE {self._value(inner)} = {self._value(outer)}{more}"


def _listed(values: Sequence[str], names: Sequence[str]) -> str:
    return ", ".join(f"{value} AS {name}" for value, name in zip(values, names, strict=True))
