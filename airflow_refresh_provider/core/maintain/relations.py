"""What is known of a relation inside a query: its columns, and for each place that reads an input, where it leads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from airflow_refresh_provider.core.maintain.values import Value
from airflow_refresh_provider.core.query.facts import Obstacle

InputColumns = Mapping[str, Mapping[str, str]]
"""Input, in lower case -> the names of its columns, in lower case -> their Spark types."""


@dataclass(frozen=True)
class Link:
    """An input that an occurrence is joined with, as hop number `number`."""

    number: int
    input: str
    on: tuple[exp.Expr, ...]
    needs: frozenset[int]

    @property
    def alias(self) -> str:
        """The name of the hop in expressions."""
        return f"h{self.number}"


@dataclass(eq=False)
class Occurrence:
    """One reading of an input. A WITH query that is read twice has two occurrences of each of its tables.

    `used` are the columns that are read, None for all.
    """

    table: exp.Table
    input: str
    links: list[Link] = field(default_factory=list)
    blocked: Obstacle | None = None
    used: set[str] | None = field(default_factory=set)

    def use(self, name: str) -> None:
        """Note that a column is read."""
        if self.used is not None:
            self.used.add(name)

    def block(self, obstacle: Obstacle) -> None:
        """Remember the first construct after which no column leads to its rows."""
        self.blocked = self.blocked or obstacle


Routes = Mapping[Occurrence, Mapping[str, Value]]
"""For each occurrence the columns whose value is known in all rows that a change of one of its rows can change."""


@dataclass(frozen=True)
class Relation:
    """Columns in lower case and in order, with their types where these are known. `leaf`: the input that it is."""

    types: Mapping[str, str | None]
    routes: Routes
    leaf: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(self.types)

    def renamed(self, names: tuple[str, ...]) -> Relation:
        """The same relation under other names."""
        pairs = dict(zip(self.names, names, strict=False))
        return Relation(
            types={pairs[name]: type_ for name, type_ in self.types.items() if name in pairs},
            routes={o: {pairs[n]: v for n, v in known.items() if n in pairs} for o, known in self.routes.items()},
        )

    def without_routes(self, obstacle: Obstacle) -> Relation:
        """The relation after a construct that makes all of its rows depend on each other."""
        for occurrence in self.routes:
            occurrence.block(obstacle)
        return Relation(self.types, {occurrence: {} for occurrence in self.routes})
