"""Runs a translated query with DuckDB over rows in memory.

DuckDB comes with the extra `testing`; it is imported when the first query is evaluated. Results are kept, so that a
search over many schedules evaluates a query once for each content of its inputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from airflow_refresh_provider.core.definition.columns import Columns
from airflow_refresh_provider.errors import Failed, Invalid
from airflow_refresh_provider.testing.spark_sql.types import TIMESTAMP, duckdb_type

if TYPE_CHECKING:
    import duckdb

_ROWS_AT_ONCE = 200


@dataclass(frozen=True)
class Relation:
    """Columns, and rows of their values in this order."""

    columns: Columns
    rows: tuple[tuple[Any, ...], ...]


Relations = tuple[tuple[str, Relation], ...]
"""Relations by name."""


@lru_cache(maxsize=4096)
def evaluate(query: str, inputs: Relations) -> Relation:
    """The result of a query in Spark's SQL. Raises Invalid where it is wrong, or cannot be evaluated as Spark does."""
    # As everywhere, the SQL parser is loaded where a query is looked into.
    from airflow_refresh_provider.testing.spark_sql.translation import translate

    duckdb = _duckdb()
    translation = translate(query, tuple((name, relation.columns) for name, relation in inputs))
    with duckdb.connect() as connection:
        for name, relation in inputs:
            _load(connection, name, relation)
        try:
            rows = connection.execute(translation.sql).fetchall()
        except duckdb.Error as error:
            raise _failed(error, isinstance(error, duckdb.BinderException | duckdb.ParserException)) from error
    kinds = [c.type for c in translation.columns]
    return Relation(translation.columns, tuple(tuple(map(_from_duckdb, row, kinds)) for row in rows))


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError as error:
        raise Invalid(
            "duckdb_missing",
            "queries are evaluated in memory by DuckDB, which is not installed",
            next="Install airflow-refresh-provider[testing].",
        ) from error
    return duckdb


def _load(connection: duckdb.DuckDBPyConnection, name: str, relation: Relation) -> None:
    columns = ", ".join(f"{_quoted(c.name)} {duckdb_type(c.type)}" for c in relation.columns)
    connection.execute(f"CREATE TABLE {_quoted(name)} ({columns})")
    one = f"({', '.join('?' * len(relation.columns))})"
    kinds = [c.type for c in relation.columns]
    for first in range(0, len(relation.rows), _ROWS_AT_ONCE):
        rows = relation.rows[first : first + _ROWS_AT_ONCE]
        values = [_to_duckdb(value, kind) for row in rows for value, kind in zip(row, kinds, strict=True)]
        connection.execute(f"INSERT INTO {_quoted(name)} VALUES {', '.join([one] * len(rows))}", values)


def _quoted(name: str) -> str:
    return '"' + name.lower().replace('"', '""') + '"'


def _to_duckdb(value: Any, kind: str) -> Any:
    if kind == TIMESTAMP and isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return value


def _from_duckdb(value: Any, kind: str) -> Any:
    return value.replace(tzinfo=UTC) if kind == TIMESTAMP and value is not None else value


def _failed(error: Exception, refused: bool) -> Invalid | Failed:
    reason = str(error).splitlines()[0]
    if refused:
        return Invalid("query_invalid", f"DuckDB refuses the query: {reason}", next="Correct the query.")
    return Failed(
        "query_failed",
        f"the query failed in memory: {reason}",
        left="Nothing was changed.",
        next="Correct the query, or the rows of its inputs.",
    )
