"""How other programs read a target at its published version: the lines to type, judged by the table's features.

Tried with deltalake 1.6, polars 2.1 and DuckDB 1.5: its `delta_scan` and deltalake's `QueryBuilder` know deletion
vectors and column mapping, polars only the former, and deltalake's `to_pandas` and `to_pyarrow_dataset` neither.
"""

from __future__ import annotations

from airflow_refresh_provider.core.text.stored import Stored

DELETION_VECTORS = "deletionVectors"
_READ_BY_TO_PANDAS = frozenset({"timestampNtz", "variantType", "variantType-preview"})
_READ_BY_POLARS = _READ_BY_TO_PANDAS | {DELETION_VECTORS}


class ReadingLine(Stored):
    """One program, and the `line` that reads the published version with it, null where it cannot; `reason` says why
    not, or why not by a simpler line.
    """

    program: str
    line: str | None
    reason: str | None = None


class ReadTable(Stored):
    """A version of a table, what its readers must know, and the columns that are not the user's."""

    location: str
    version: int
    features: frozenset[str]
    hidden: tuple[str, ...] = ()


def lines_of(table: ReadTable) -> tuple[ReadingLine, ...]:
    """A line for each program."""
    return (_pandas(table), _polars(table), _duckdb(table))


def _pandas(table: ReadTable) -> ReadingLine:
    place = f"DeltaTable({table.location!r}, version={table.version})"
    unknown = _named(table.features - _READ_BY_TO_PANDAS)
    if not unknown:
        line = f"deltalake.{place}.to_pandas(){_dropped(table.hidden, 'columns=[{}]')}"
        return ReadingLine(program="pandas", line=line)
    query = f"SELECT *{_without('EXCEPT', table.hidden)} FROM t"
    line = f"pyarrow.table(deltalake.QueryBuilder().register('t', deltalake.{place}).execute({query!r}).read_all())"
    reason = f"the table has {unknown}, with which `to_pandas` and `to_pyarrow_dataset` of deltalake refuse it"
    return ReadingLine(program="pandas", line=f"{line}.to_pandas()", reason=reason)


def _polars(table: ReadTable) -> ReadingLine:
    if unknown := _named(table.features - _READ_BY_POLARS):
        return ReadingLine(program="polars", line=None, reason=f"the table has {unknown}, which polars does not read")
    line = f"polars.read_delta({table.location!r}, version={table.version}){_dropped(table.hidden, '{}')}"
    return ReadingLine(program="polars", line=line)


def _duckdb(table: ReadTable) -> ReadingLine:
    place = table.location.replace("'", "''")
    query = f"SELECT *{_without('EXCLUDE', table.hidden)} FROM delta_scan('{place}', version => {table.version})"
    return ReadingLine(program="duckdb", line=f"duckdb.sql({query!r})")


def _without(word: str, hidden: tuple[str, ...]) -> str:
    return f" {word} ({', '.join(hidden)})" if hidden else ""


def _dropped(hidden: tuple[str, ...], arguments: str) -> str:
    return f".drop({arguments.format(', '.join(map(repr, hidden)))})" if hidden else ""


def _named(features: frozenset[str]) -> str:
    return ", ".join(sorted(features))
