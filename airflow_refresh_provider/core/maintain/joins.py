"""Joins: which columns of the joined rows are equal, and in which direction a value may be carried over.

In an inner join, and after a WHERE, equal columns are equal in every row that passes. A row of the nullable side of an
outer join affects rows that it matches: there the preserved side has its value. The other direction does not hold, as
the same row of the preserved side comes with NULLs too. Where a later RIGHT or FULL JOIN makes sources nullable that
are joined already, a row of theirs also affects rows in which all of them are NULL.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from sqlglot import exp

from airflow_refresh_provider.core.maintain.merging import HIDING, merge
from airflow_refresh_provider.core.maintain.scopes import Scope, conjuncts, is_known, sources_of
from airflow_refresh_provider.core.maintain.values import canonical, null_with_all, null_with_any


@dataclass(frozen=True)
class Edge:
    """Where `source` has a value, `target` has it too. `null_safe`: NULL equals NULL.

    `matching`: it holds in the rows that match in an outer, semi or anti join, and in no row in which an earlier join
    left NULLs for the source. `padded`: not in all rows that `source` affects, for a later join also has rows with NULL
    in `target`.
    """

    source: exp.Expr
    target: exp.Expr
    null_safe: bool = False
    matching: bool = False
    padded: bool = False


@dataclass
class Joined:
    """The edges of a FROM clause, and the sources that may be NULL in its rows.

    `coalesced`: both sides of each FULL JOIN, which have one value in all rows that either affects; `padded`: those of
    which another join has rows with NULL in both.
    """

    edges: list[Edge] = field(default_factory=list)
    nullable: set[str] = field(default_factory=set)
    coalesced: list[tuple[exp.Expr, exp.Expr]] = field(default_factory=list)
    padded: list[tuple[exp.Expr, exp.Expr]] = field(default_factory=list)

    def compared(self) -> list[tuple[exp.Expr, exp.Expr]]:
        """What is compared for equality."""
        return [*((edge.source, edge.target) for edge in self.edges), *self.coalesced, *self.padded]

    def merged_values(self) -> list[exp.Expr]:
        """The one value of both sides of each FULL JOIN."""
        return [exp.Coalesce(this=left.copy(), expressions=[right.copy()]) for left, right in self.coalesced]

    def is_null_where_padded(self, value: exp.Expr) -> bool:
        """Whether a value is NULL in rows with NULLs for a source of it. Of a FULL JOIN: where both sides are NULL."""
        pairs = (*self.coalesced, *self.padded)
        return null_with_any(value) or any(canonical(value) in coalesce_texts(*pair) for pair in pairs)

    def pad(self, sources: set[str]) -> None:
        """There are rows from now on in which all of these are NULL."""
        self.nullable |= sources
        self.edges = [replace(e, padded=e.padded or bool(sources_of(e.target) & sources)) for e in self.edges]
        self.padded += [pair for pair in self.coalesced if any(sources_of(value) & sources for value in pair)]
        self.coalesced = [pair for pair in self.coalesced if pair not in self.padded]


def add_join(joined: Joined, scope: Scope, join: exp.Join, added: set[str], before: set[str]) -> None:
    """Take a join of the sources `before` with those of the aliases `added` into account."""
    side, kind = join.side.upper(), join.kind.upper()
    if kind in HIDING:
        scope.hidden |= added
    asked = list(equalities(scope, join.args.get("on")))
    equal = [*asked, *((left, right, False) for left, right in merge(scope, join, added))]
    if side == "FULL":
        _add_full(joined, [(left, right) for left, right, null_safe in equal if not null_safe], before | added)
        return
    nullable, preserved = (added, before) if side == "LEFT" or kind in HIDING else (before, added)
    inner = side not in ("LEFT", "RIGHT") and kind not in HIDING
    maybe_null = set(joined.nullable)
    if side in ("LEFT", "RIGHT"):
        joined.pad(nullable)
    for left, right, null_safe in equal:
        for source, target in ((left, right), (right, left)):
            was_padded = bool(sources_of(source) & maybe_null)
            if null_safe and was_padded:
                continue
            if inner:
                joined.edges.append(Edge(source, target, null_safe))
            elif sources_of(source) <= nullable and sources_of(target) <= preserved:
                matching = not was_padded or joined.is_null_where_padded(source)
                joined.edges.append(Edge(source, target, null_safe, matching=matching))


def _add_full(joined: Joined, pairs: list[tuple[exp.Expr, exp.Expr]], sources: set[str]) -> None:
    """A side that may be NULL already has rows with NULL in both, as a later join would make them.

    There is no one value if a side is not NULL in rows without it, as with `coalesce(v, 0)`.
    """
    nullable = set(joined.nullable)
    never = {text for pair in joined.coalesced for text in coalesce_texts(*pair)}
    joined.pad(sources)
    for pair in pairs:
        if not all(map(null_with_all, pair)):
            continue
        known = all(canonical(value) in never or not sources_of(value) & nullable for value in pair)
        (joined.coalesced if known else joined.padded).append(pair)


def equalities(scope: Scope, condition: exp.Expr | None) -> Iterator[tuple[exp.Expr, exp.Expr, bool]]:
    """The equalities that a condition asks for: both sides, and whether NULL equals NULL."""
    for part in conjuncts(condition):
        if isinstance(part, exp.EQ | exp.NullSafeEQ):
            left, right = scope.qualified(part.left).unnest(), scope.qualified(part.right).unnest()
            if is_known(left) and is_known(right):
                yield left, right, isinstance(part, exp.NullSafeEQ)


def of_where(scope: Scope, condition: exp.Expr | None) -> Iterator[Edge]:
    """The edges of a WHERE: both ways."""
    for left, right, null_safe in equalities(scope, condition):
        yield Edge(left, right, null_safe)
        yield Edge(right, left, null_safe)


def coalesce_texts(left: exp.Expr, right: exp.Expr) -> tuple[str, str]:
    """How the one value of both sides of a FULL JOIN can be written."""
    some, other = (exp.Coalesce(this=a.copy(), expressions=[b.copy()]) for a, b in ((left, right), (right, left)))
    return canonical(some), canonical(other)
