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
Output = tuple[str, exp.Expr]
"""A column of joined rows: its name, and the qualified expression."""
SUBQUERIES = (exp.Subquery, exp.Exists, exp.Select, exp.SetOperation)


@dataclass
class Scope:
    """The sources of a SELECT by alias in lower case, in order; `visible` are those whose columns can be selected.

    `output` are the columns of the joined rows in the order of `*`. USING and NATURAL JOIN put their names, which are
    `merged`, before the others; the columns that are then only found with their alias are `concealed`.
    """

    outer: Scope | None = None
    sources: dict[str, Relation] = field(default_factory=dict)
    output: list[Output] = field(default_factory=list)
    concealed: list[Output] = field(default_factory=list)
    hidden: set[str] = field(default_factory=set)
    aliases: dict[str, exp.Expr] = field(default_factory=dict)
    merged: set[str] = field(default_factory=set)

    @property
    def visible(self) -> Mapping[str, Relation]:
        """The sources whose columns are those of the joined rows."""
        return {alias: relation for alias, relation in self.sources.items() if alias not in self.hidden}

    def add(self, alias: str, relation: Relation) -> None:
        """Add a source."""
        self.sources[alias] = relation
        self.output += [(name, column(alias, name)) for name in relation.types]

    def add_all(self, inner: Scope, relations: Mapping[str, Relation]) -> None:
        """Add the sources of a join in parentheses."""
        self.sources.update(relations)
        self.output += inner.output
        self.concealed += inner.concealed

    def listed(self, alias: str) -> list[Output]:
        """The columns that `*`, or `alias.*`, stands for, in Spark's order."""
        if not alias:
            return self.output
        every = (*self.concealed, *self.output)
        return [one for one in every if isinstance(one[1], exp.Column) and one[1].table == alias]

    def qualified(self, expression: exp.Expr) -> exp.Expr:
        """A copy with columns as `alias.name`; those of the query around are marked, subqueries are left out."""
        return expression.copy().transform(self._step, copy=False)

    def locate(self, node: exp.Column) -> tuple[exp.Expr, tuple[str, ...]] | None:
        """What a column of this SELECT's sources is, and the fields inside of it: none for the column itself."""
        words = tuple(part.name.lower() for part in node.parts)
        if len(words) > 1 and words[0] in self.sources and words[1] in self.sources[words[0]].types:
            found: exp.Expr | None = column(words[0], words[1])
            fields = words[2:]
        else:
            found, fields = self._named(words[0]), words[1:]
        return (found, fields) if found is not None and self._has(found, fields) else None

    def _named(self, name: str) -> exp.Expr | None:
        """The column with a name, where it is the only one; those of semi and anti joins are seen by their ON."""
        hidden = (alias for alias in self.sources if alias in self.hidden and name in self.sources[alias].types)
        found = [value for known, value in self.output if known == name] or [column(alias, name) for alias in hidden]
        return found[0].copy() if len(found) == 1 else None

    def _has(self, found: exp.Expr, fields: tuple[str, ...]) -> bool:
        if not fields:
            return True
        struct = self.sources[found.table].types[found.name] if isinstance(found, exp.Column) else None
        return field_type(struct, fields) is not None

    def _step(self, node: exp.Expr) -> exp.Expr:
        if isinstance(node, SUBQUERIES) or (isinstance(node, exp.In) and node.args.get("query")):
            return exp.Placeholder(this="subquery")
        if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
            return node
        return self._resolved(node)

    def _resolved(self, node: exp.Column) -> exp.Expr:
        if found := self.locate(node):
            return field_of(*found)
        if not node.table and node.name.lower() in self.aliases:
            return exp.Paren(this=self.aliases[node.name.lower()].copy())
        if self.outer is not None and (found := self.outer.locate(node)):
            return field_of(found[0].transform(_as_outer), found[1])
        return exp.Placeholder(this="unknown")


def _as_outer(node: exp.Expr) -> exp.Expr:
    return column(f"{OUTER}{node.table}", node.name) if isinstance(node, exp.Column) else node


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
