"""From which columns of which inputs the value of each column of a result is made."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.lineage import Node, lineage
from sqlglot.schema import MappingSchema

from airflow_refresh_provider.core.query.parse import parse

_Failures = (SqlglotError, RecursionError, LookupError, AttributeError, TypeError, ValueError)
"""What the parser's analysis raises for a query that it does not follow."""

Origins = dict[str, tuple[tuple[str, str], ...]]
"""Column of a result -> (input, column) pairs, sorted."""


def origins(query: str, columns: Mapping[str, Mapping[str, str]]) -> Origins | None:
    """The origins of each column that is made of one at least; None where the analysis does not follow the query.

    `columns`: input -> column -> type. Columns that only decide which rows there are, as in filters and joins, do not
    count. Raises Invalid for a query that cannot be parsed.
    """
    written = {table.lower(): table for table in columns}
    names = {table.lower(): {name.lower(): name for name in given} for table, given in columns.items()}
    schema = MappingSchema({table: dict.fromkeys(given, "string") for table, given in names.items()}, dialect="spark")
    try:
        nodes = lineage(None, parse(query).tree, schema, dialect="spark")
    except _Failures:
        return None
    found: Origins = {}
    for column, node in nodes.items():
        leaves = {(table, name) for table, name in map(_leaf, node.walk()) if name in names.get(table, {})}
        if leaves:
            found[column] = tuple(sorted((written[table], names[table][name]) for table, name in leaves))
    return found


def _leaf(node: Node) -> tuple[str, str]:
    """Input and column of a node that reads a table; of another one nothing that there is."""
    if not isinstance(node.expression, exp.Table):
        return "", ""
    return node.expression.name.lower(), exp.to_column(node.name, dialect="spark").name.lower()
