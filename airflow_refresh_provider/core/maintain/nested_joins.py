"""Joins in parentheses, or before another ON: they are done first, and are one side of the join around."""

from __future__ import annotations

from sqlglot import exp

from airflow_refresh_provider.core.maintain.blocks import Block
from airflow_refresh_provider.core.maintain.columns import distinctly_named
from airflow_refresh_provider.core.maintain.relations import Relation
from airflow_refresh_provider.core.maintain.types import type_of
from airflow_refresh_provider.core.maintain.values import value_of


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
    """The joined sources as one relation, of which all columns count as read."""
    named = distinctly_named("", block.scope.output)
    routes = {}
    for occurrence, known in block.known.items():
        occurrence.used = None
        values = {name: value_of(expression, known) for name, expression in named.items()}
        routes[occurrence] = {name: value for name, value in values.items() if value is not None}
    return Relation({name: type_of(expression, block.scope) for name, expression in named.items()}, routes)
