"""How an expression is translated: by the handler of its kind, its operands first.

A handler gets a node whose place in the query it need not know, translates its operands in place, and returns what
stands for it in DuckDB, with its Spark type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from airflow_refresh_provider.testing.spark_sql.types import duckdb_type, unsupported

Types = dict[str, str]
"""Spark types by column name."""
Handler = Callable[[exp.Expr, "Scope"], tuple[exp.Expr, str]]

_SHOWN = 60


@dataclass(frozen=True)
class Scope:
    """What an expression can see: the columns of its sources by alias, and those of the queries around it.

    `outputs` are the names that ORDER BY sees besides. `subquery` translates a query inside an expression.
    """

    handlers: Mapping[type[exp.Expr], Handler]
    subquery: Callable[[exp.Expr, Scope], Types]
    outer: Scope | None = None
    sources: dict[str, Types] = field(default_factory=dict)
    outputs: Types = field(default_factory=dict)

    def column(self, node: exp.Column) -> str:
        """The type of a column."""
        scope: Scope | None = self
        while scope is not None:
            types = scope.sources.get(node.table, {}) if node.table else scope.outputs
            if node.name in types:
                return types[node.name]
            scope = scope.outer
        raise unsupported(f"the column {shown(node)}")


def translated(node: exp.Expr, scope: Scope) -> str:
    """Translate a node at its place in the query; its type."""
    parent, key, index = node.parent, node.arg_key, node.index
    handler = scope.handlers.get(type(node))
    if handler is None:
        raise unsupported(shown(node))
    new, kind = handler(node, scope)
    assert parent is not None and key is not None
    parent.set(key, new, index)
    return kind


def operand(node: exp.Expr, part: str, scope: Scope) -> str:
    """Translate one operand of a node; its type."""
    return translated(node.args[part], scope)


def operands(node: exp.Expr, scope: Scope, part: str = "expressions") -> list[str]:
    """Translate a list of operands; their types."""
    return [translated(inner, scope) for inner in list(node.args.get(part) or ())]


def cast(node: exp.Expr, kind: str) -> exp.Expr:
    """A node cast to DuckDB's type for a Spark type."""
    return exp.Cast(this=node, to=exp.DataType.build(duckdb_type(kind), dialect="duckdb"))


def call(name: str, *arguments: exp.Expr) -> exp.Expr:
    """A call of a function of DuckDB."""
    return exp.Anonymous(this=name, expressions=list(arguments))


def text(value: str) -> exp.Expr:
    """A string."""
    return exp.Literal.string(value)


def unless(wrong: exp.Expr, error: str, result: exp.Expr) -> exp.Expr:
    """The result, or an error at run time for rows of which something is wrong."""
    return exp.Case(ifs=[exp.If(this=wrong, true=call("error", text(error)))], default=result)


def shown(node: exp.Expr) -> str:
    """The beginning of a part of a query, for messages."""
    found = " ".join(node.sql("spark", comments=False).replace("`", "").split())
    return found if len(found) <= _SHOWN else f"{found[:_SHOWN]}..."
