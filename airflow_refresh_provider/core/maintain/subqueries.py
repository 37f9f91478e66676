"""Subqueries in conditions and columns: their rows affect the rows around whose columns they are compared with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sqlglot import exp

from airflow_refresh_provider.core.maintain.blocks import Block
from airflow_refresh_provider.core.maintain.joins import equalities
from airflow_refresh_provider.core.maintain.relations import Occurrence, Relation
from airflow_refresh_provider.core.maintain.scopes import OUTER, Scope, conjuncts, inside_subquery, is_known, sources_of
from airflow_refresh_provider.core.maintain.types import comparable, type_of
from airflow_refresh_provider.core.maintain.values import Known, Value, canonical, value_of

if TYPE_CHECKING:
    from airflow_refresh_provider.core.maintain.queries import Reader, _With


ALL_AROUND = "a subquery whose rows concern all rows around it"
"""What is said of a subquery that is compared with nothing around it."""


def started(reader: Reader, select: exp.Select, scope: Scope, with_: _With) -> dict[Occurrence, Known]:
    """For each occurrence inside of a subquery the values that the rows around have which it affects."""
    found: dict[Occurrence, Known] = {}
    for query in _subqueries(select):
        inner = query.unnest()
        if isinstance(inner, exp.Select):
            block, result = reader.select(inner, with_, scope)
            correlated = _correlated(block, inner)
        else:
            result, correlated = reader.relation(inner, with_, scope), {}
        compared = _compared(query, select, scope)
        for occurrence in result.routes:
            known = dict(correlated.get(occurrence, {}))
            if compared is not None and (value := _first(result, occurrence, compared, scope)):
                known.setdefault(canonical(compared), value)
            if not known:
                occurrence.block(reader.at(query, ALL_AROUND))
            found[occurrence] = known
    return found


def _first(result: Relation, occurrence: Occurrence, compared: exp.Expr, scope: Scope) -> Value | None:
    """The value of the one column of a query that something is compared with."""
    name = next(iter(result.names), "")
    same = comparable(type_of(compared, scope), result.types.get(name))
    return result.routes[occurrence].get(name) if same else None


def _subqueries(select: exp.Select) -> Iterator[exp.Expr]:
    """The queries in expressions of a SELECT, outermost only."""
    for name in ("expressions", "where", "having", "qualify", "order"):
        clause = select.args.get(name)
        for part in clause if isinstance(clause, list) else [clause]:
            if part is not None:
                yield from (q for q in part.find_all(exp.Select, exp.SetOperation) if not inside_subquery(q, part))


def _correlated(block: Block, inner: exp.Select) -> dict[Occurrence, Known]:
    """The columns around that are equal to a column inside, in the WHERE of the subquery."""
    where = inner.args.get("where")
    pairs = list(_outer_pairs(block.scope, where.this if where else None))
    found: dict[Occurrence, Known] = {}
    for occurrence, known in block.known.items():
        values = {canonical(_around(outer)): value_of(inside, known) for inside, outer in pairs}
        found[occurrence] = {text: value for text, value in values.items() if value is not None}
    return found


def _outer_pairs(scope: Scope, condition: exp.Expr | None) -> Iterator[tuple[exp.Expr, exp.Expr]]:
    for left, right, null_safe in equalities(scope, condition):
        for inside, outer in ((left, right), (right, left)):
            around = {source.startswith(OUTER) for source in sources_of(outer)}
            within = {source.startswith(OUTER) for source in sources_of(inside)}
            same = not null_safe and comparable(type_of(inside, scope), type_of(outer, scope))
            if around == {True} and within == {False} and same:
                yield inside, outer


def _around(outer: exp.Expr) -> exp.Expr:
    """The expression as it is written in the query around."""
    copy = outer.copy()
    for node in list(copy.find_all(exp.Column)):
        node.set("table", exp.to_identifier(node.table.removeprefix(OUTER), quoted=True))
    return copy


def _compared(query: exp.Expr, select: exp.Select, scope: Scope) -> exp.Expr | None:
    """What a positive IN, which has to be true, compares with the rows of its query."""
    node = query.parent
    while isinstance(node, exp.Subquery):
        node = node.parent
    if not isinstance(node, exp.In):
        return None
    where = select.args.get("where")
    if not any(part is node for part in conjuncts(where.this if where else None)):
        return None
    compared = scope.qualified(node.this)
    return compared if is_known(compared) else None
