"""Joins in parentheses, or before another ON: they are done first, and are one side of the join around."""

from __future__ import annotations

from sqlglot import exp

from airflow_refresh_provider.core.maintain.blocks import Block
from airflow_refresh_provider.core.maintain.columns import UNNAMED
from airflow_refresh_provider.core.maintain.relations import Occurrence, Relation
from airflow_refresh_provider.core.maintain.values import Value


def is_nested(source: exp.Expr) -> bool:
    """Whether a source of a FROM clause is not one table or query."""
    return bool(source.args.get("joins")) or holds_sources(source)


def holds_sources(source: exp.Expr) -> bool:
    """Whether parentheses are around sources instead of a query."""
    if not isinstance(source, exp.Subquery):
        return False
    inner = source.this
    return isinstance(inner, exp.Table) or (isinstance(inner, exp.Subquery) and bool(inner.alias or is_nested(inner)))


def alias_of(source: exp.Expr) -> str:
    """The one name that all sources inside have outside; the empty text where they keep their own."""
    return str(source.alias).lower() if holds_sources(source) else ""


def as_one(block: Block) -> Relation:
    """The joined sources as one relation. Of columns with one name that are not merged, only the first has it."""
    merged, hidden = block.scope.merged, block.scope.hidden
    types: dict[str, str | None] = {}
    routes: dict[Occurrence, dict[str, Value]] = {occurrence: {} for occurrence in block.known}
    for alias, relation in block.relations().items():
        if alias in hidden:
            continue
        taken = set(types) - merged
        names = {name: f"{UNNAMED}{alias}.{name}" if name in taken else name for name in relation.names}
        types |= {names[name]: type_ for name, type_ in relation.types.items() if names[name] not in types}
        for occurrence, known in relation.routes.items():
            own = {names[name]: value for name, value in known.items() if name in names}
            routes[occurrence] = {**own, **routes[occurrence]}
    return Relation(types, routes)
