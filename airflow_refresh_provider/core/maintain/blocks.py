"""A SELECT: the values that its rows have for each occurrence of an input below it, and its columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from airflow_refresh_provider.core.maintain.joins import Edge, Joined, coalesce_texts
from airflow_refresh_provider.core.maintain.relations import Link, Occurrence, Relation
from airflow_refresh_provider.core.maintain.scopes import Scope, sources_of
from airflow_refresh_provider.core.maintain.types import comparable, type_of
from airflow_refresh_provider.core.maintain.values import Known, Value, canonical, column, value_of

_MAX_HOPS = 8
"""Joins of a changed row with other inputs; those that lead to no anchor are left out of the route."""


@dataclass
class Block:
    """The rows of FROM and WHERE of a SELECT. `known` has the values of each occurrence, found by `follow`."""

    scope: Scope
    joined: Joined
    known: dict[Occurrence, Known] = field(default_factory=dict)

    def follow(self, started: Mapping[Occurrence, Known]) -> None:
        """Find the values of all occurrences; `started` are those of subqueries, which lead to columns from outside."""
        for occurrence, aliases in self._aliases().items():
            own: Known = {}
            visible: Known = {}
            for alias in aliases:
                routes = self.scope.sources[alias].routes[occurrence]
                found = {canonical(column(alias, name)): value for name, value in routes.items()}
                own |= found
                visible |= found if alias not in self.scope.hidden | self.joined.nullable else {}
            self._spread(occurrence, visible, own, aliases)
        for occurrence, known in started.items():
            self._spread(occurrence, dict(known), {}, set())

    def relations(self) -> dict[str, Relation]:
        """The sources after they are joined: each leads to what is known of all of them."""
        return {alias: self._joined_with_all(alias, relation) for alias, relation in self.scope.sources.items()}

    def _joined_with_all(self, alias: str, relation: Relation) -> Relation:
        texts = {name: canonical(column(alias, name)) for name in relation.types}
        routes = {
            occurrence: {name: known[text] for name, text in texts.items() if text in known}
            for occurrence, known in self.known.items()
        }
        return replace(relation, routes=routes)

    def incomparable(self) -> dict[str, str]:
        """Input -> a comparison of a column of it with one of another type, by which no value is carried over."""
        found: dict[str, str] = {}
        for sides in self.joined.compared():
            kinds = [type_of(side, self.scope) for side in sides]
            if None in kinds or self._are_comparable(*sides):
                continue
            text = " with ".join(f"{s.sql('spark')} ({kind})" for s, kind in zip(sides, kinds, strict=True))
            of = (sources_of(sides[0]) | sources_of(sides[1])) & self.scope.sources.keys()
            for occurrence in (occurrence for alias in of for occurrence in self.scope.sources[alias].routes):
                found.setdefault(occurrence.input, text.replace("`", ""))
        return found

    def _aliases(self) -> dict[Occurrence, set[str]]:
        """The sources that lead to an occurrence: several where these are joined in parentheses."""
        found: dict[Occurrence, set[str]] = {}
        for alias, relation in self.scope.sources.items():
            for occurrence in relation.routes:
                found.setdefault(occurrence, set()).add(alias)
        return found

    def _spread(self, occurrence: Occurrence, known: Known, own: Known, aliases: set[str]) -> None:
        within: Known = dict(own)
        self._coalesce(known, own, within)
        while True:
            self._carry(known, within)
            if not (self._link(occurrence, known, known, aliases) or self._link(occurrence, known, within, aliases)):
                break
        self.known[occurrence] = known

    def _coalesce(self, known: Known, own: Known, within: Known) -> None:
        """The merged column of a FULL JOIN has the value of either side."""
        merged: Known = dict(own)  # a side may be merged itself, by a join whose rows are padded since
        for pairs, found in ((self.joined.padded, within), (self.joined.coalesced, known)):
            for left, right in pairs:
                same = self._are_comparable(left, right)
                value = (value_of(left, merged) or value_of(right, merged)) if same else None
                if value is not None:
                    texts = dict.fromkeys(coalesce_texts(left, right), value)
                    merged.update(texts)
                    found.update(texts)

    def _carry(self, known: Known, within: Known) -> None:
        """Carry values along edges until nothing is added.

        `within` has those of rows that match, and not of all rows that are affected.
        """
        changed = True
        while changed:
            changed = False
            for edge in self.joined.edges:
                key, found = canonical(edge.target), within if edge.padded else known
                if key not in found and (value := self._at(edge, known, within)) is not None:
                    found[key] = value
                    changed = True

    def _at(self, edge: Edge, known: Known, within: Known) -> Value | None:
        """The value that an edge carries.

        NULLs of an outer join are equal to nothing, unless NULL equals NULL or, as in `coalesce(v, 0)`, something else
        stands for them.
        """
        if edge.null_safe and (sources_of(edge.target) & self.joined.nullable):
            return None
        if not self._are_comparable(edge.source, edge.target):
            return None
        matches = edge.matching or (not edge.null_safe and self.joined.is_null_where_padded(edge.source))
        return value_of(edge.source, {**known, **within} if matches else known)

    def _are_comparable(self, one: exp.Expr, other: exp.Expr) -> bool:
        return comparable(type_of(one, self.scope), type_of(other, self.scope))

    def _link(self, occurrence: Occurrence, known: Known, found: Known, aliases: set[str]) -> bool:
        """Join with one more input, of which some columns are known and others are not. Whether there was one.

        Constants alone lead to all of its rows. What is read there is `found` as what it is joined by.
        """
        if len(occurrence.links) >= _MAX_HOPS:
            return False
        for other, relation in self.scope.visible.items():
            names = {name: canonical(column(other, name)) for name in relation.types}
            values = {**known, **found}
            on = [(name, values[text]) for name, text in names.items() if text in values]
            varies = any(not value.constant for _, value in on)
            if relation.leaf is not None and other not in aliases and varies and len(on) < len(names):
                self._join(occurrence, found, relation.leaf, names, on)
                return True
        return False

    def _join(
        self, occurrence: Occurrence, known: Known, leaf: str, names: Mapping[str, str], on: list[tuple[str, Value]]
    ) -> None:
        """Add a hop to an input. NULL equals NULL there: more rows than are needed do no harm."""
        number = len(occurrence.links) + 1
        needs = frozenset().union(*(value.hops for _, value in on))
        conditions = tuple(
            exp.NullSafeEQ(this=column(f"h{number}", name), expression=value.sql.copy()) for name, value in on
        )
        occurrence.links.append(Link(number, leaf, conditions, needs))
        for name, text in names.items():
            known.setdefault(text, Value(column(f"h{number}", name), needs | {number}))
