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
            for text, value in _compared_values(result, occurrence, compared, scope):
                known.setdefault(text, value)
            if not known:
                occurrence.block(reader.at(query, ALL_AROUND))
            found[occurrence] = known
    return found


def _compared_values(
    result: Relation, occurrence: Occurrence, compared: list[exp.Expr], scope: Scope
) -> Iterator[tuple[str, Value]]:
    """The values of what is compared with the columns of a query, one by one."""
    for expression, name in zip(compared, result.names, strict=False):
        value = result.routes[occurrence].get(name)
        same = is_known(expression) and comparable(type_of(expression, scope), result.types[name])
        if same and value is not None:
            yield canonical(expression), value


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


def _compared(query: exp.Expr, select: exp.Select, scope: Scope) -> list[exp.Expr]:
    """What a positive IN, which has to be true, compares with the rows of its query: one value or several."""
    node = query.parent
    while isinstance(node, exp.Subquery):
        node = node.parent
    if not isinstance(node, exp.In):
        return []
    where = select.args.get("where")
    if not any(part is node for part in conjuncts(where.this if where else None)):
        return []
    one = node.this.unnest()
    return [scope.qualified(part) for part in (one.expressions if isinstance(one, exp.Tuple) else [one])]
