"""Names inside a SELECT: which source a column is of, and expressions with every column qualified by it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from airflow_refresh_provider.core.maintain.relations import Relation
from airflow_refresh_provider.core.maintain.structs import field_of, field_type
from airflow_refresh_provider.core.maintain.values import column

OUTER = "^"
"""Before the alias of a source of the query around."""
SUBQUERIES = (exp.Subquery, exp.Exists, exp.Select, exp.SetOperation)


@dataclass
class Scope:
    """The sources of a SELECT by alias in lower case, in order; `visible` are those whose columns can be selected."""

    outer: Scope | None = None
    sources: dict[str, Relation] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)
    aliases: dict[str, exp.Expr] = field(default_factory=dict)
    merged: set[str] = field(default_factory=set)

    @property
    def visible(self) -> Mapping[str, Relation]:
        """The sources whose columns are those of the joined rows."""
        return {alias: relation for alias, relation in self.sources.items() if alias not in self.hidden}

    def qualified(self, expression: exp.Expr) -> exp.Expr:
        """A copy with columns as `alias.name`; those of the query around are marked, subqueries are left out."""
        return expression.copy().transform(self._step, copy=False)

    def find(self, node: exp.Column) -> tuple[str, str] | None:
        """The alias and the name of a column of this SELECT's sources, of which the node may be a field."""
        found = self.locate(node)
        return found[:2] if found else None

    def locate(self, node: exp.Column) -> tuple[str, str, tuple[str, ...]] | None:
        """As `find`, with the fields inside the column: none for the column itself."""
        words = tuple(part.name.lower() for part in node.parts)
        if len(words) > 1 and words[0] in self.sources and words[1] in self.sources[words[0]].types:
            alias, name, fields = words[0], words[1], words[2:]
        elif (of := self._source_of(words[0])) is not None:
            alias, name, fields = of, words[0], words[1:]
        else:
            return None
        known = not fields or field_type(self.sources[alias].types[name], fields) is not None
        return (alias, name, fields) if known else None

    def _source_of(self, name: str) -> str | None:
        """The source that has a column, where it is the only one, or they are merged."""
        found = [alias for alias, relation in self.sources.items() if name in relation.types]
        visible = [alias for alias in found if alias not in self.hidden] or found
        return visible[0] if len(visible) == 1 or (visible and name in self.merged) else None

    def _step(self, node: exp.Expr) -> exp.Expr:
        if isinstance(node, SUBQUERIES) or (isinstance(node, exp.In) and node.args.get("query")):
            return exp.Placeholder(this="subquery")
        if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
            return node
        return self._resolved(node)

    def _resolved(self, node: exp.Column) -> exp.Expr:
        if found := self.locate(node):
            return field_of(column(*found[:2]), found[2])
        if not node.table and node.name.lower() in self.aliases:
            return exp.Paren(this=self.aliases[node.name.lower()].copy())
        if self.outer is not None and (found := self.outer.locate(node)):
            return field_of(column(f"{OUTER}{found[0]}", found[1]), found[2])
        return exp.Placeholder(this="unknown")


def sources_of(expression: exp.Expr) -> set[str]:
    """The aliases of the sources of a qualified expression."""
    return {node.table for node in expression.find_all(exp.Column)}


def is_known(expression: exp.Expr) -> bool:
    """Whether every part of a qualified expression could be resolved."""
    return expression.find(exp.Placeholder) is None


def conjuncts(condition: exp.Expr | None) -> list[exp.Expr]:
    """The parts of a condition that must all be true."""
    if condition is None:
        return []
    node = condition.unnest()
    return [part for side in node.flatten() for part in conjuncts(side)] if isinstance(node, exp.And) else [node]


def inside_subquery(node: exp.Expr, top: exp.Expr) -> bool:
    """Whether a node belongs to a query inside of `top`; `top` itself does not."""
    parent = None if node is top else node.parent
    while parent is not None and parent is not top:
        if isinstance(parent, exp.Select | exp.SetOperation):
            return True
        parent = parent.parent
    return False
