"""Joins in parentheses, or before another ON: they are done first, and are one side of the join around."""

from __future__ import annotations

from sqlglot import exp

from airflow_refresh_provider.core.maintain.blocks import Block
from airflow_refresh_provider.core.maintain.relations import Relation


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
    """The joined sources as one relation. Of columns with one name the first is taken: the others cannot be named."""
    found = Relation({}, {occurrence: {} for occurrence in block.known})
    for alias, relation in reversed(list(block.relations().items())):
        if alias not in block.scope.hidden:
            routes = {o: {**found.routes[o], **relation.routes[o]} for o in found.routes}
            found = Relation({**relation.types, **found.types}, routes)
    return found
