"""Queries of others with their tables: what a script creates and inserts, run in DuckDB."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import duckdb
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from tests.unit.maintain.keyed import Row
from tests.unit.maintain.public_scripts import Script

MOST_ROWS = 40
_QUERIES = (exp.Query, exp.Subquery)


@dataclass(frozen=True)
class Table:
    """Columns with their types in Spark's words, and some rows."""

    columns: Mapping[str, str]
    rows: tuple[Row, ...] = ()


@dataclass(frozen=True)
class Case:
    """A query in Spark's dialect, or as it was where that cannot be said; the tables that its script has."""

    query: str
    tables: Mapping[str, Table] = field(default_factory=dict)
    translated: bool = True


def cases_of(script: Script) -> Iterator[Case]:
    """The queries of a script and those of its views, with all that it inserts: nothing is deleted or dropped.

    Where a table is created again, its columns and rows are those of then.
    """
    queries: list[tuple[str, bool]] = []
    with duckdb.connect() as database:
        for statement in script.statements:
            tree = _parsed(statement, script.dialect)
            if again := _created_again(tree, database):
                tables = _tables(database)
                yield from (Case(query, tables, known) for query, known in queries)
                queries = []
                database.execute(f'DROP TABLE "{again}"')
            query = _query_of(tree)
            if query is not None:
                queries.append(_in_spark(query))
            elif tree is None and statement.lower().startswith(("select", "with", "from", "(")):
                queries.append((statement, script.dialect == "spark"))
            if isinstance(tree, exp.Create | exp.Insert | exp.Update | exp.Alter):
                _run(database, tree)
        tables = _tables(database)
    yield from (Case(query, tables, known) for query, known in queries)


def _parsed(statement: str, dialect: str) -> exp.Expr | None:
    try:
        found = sqlglot.parse_one(statement, read=dialect)
    except (SqlglotError, RecursionError):
        return None
    return None if isinstance(found, exp.Command) else found


def _query_of(tree: exp.Expr | None) -> exp.Expr | None:
    if isinstance(tree, exp.Create) and isinstance(tree.expression, _QUERIES):
        return tree.expression
    return tree if isinstance(tree, _QUERIES) else None


def _in_spark(query: exp.Expr) -> tuple[str, bool]:
    try:
        return query.sql("spark", comments=False, unsupported_level=sqlglot.ErrorLevel.RAISE), True
    except SqlglotError:
        return query.sql("spark", comments=False), False


def _created_again(tree: exp.Expr | None, database: duckdb.DuckDBPyConnection) -> str | None:
    """The name of a table that a statement creates, if it is there."""
    table = tree.find(exp.Table) if isinstance(tree, exp.Create) and tree.kind in ("TABLE", "VIEW") else None
    known = table is not None and not _is_elsewhere(table) and table.name.lower() in _names(database)
    return table.name.lower() if table is not None and known else None


def _renames(tree: exp.Expr) -> bool:
    """Whether a statement changes anything of a table but its columns: most scripts go back to its name."""
    return isinstance(tree, exp.Alter) and any(
        not isinstance(a, exp.Drop | exp.ColumnDef) for a in tree.args["actions"]
    )


def _is_elsewhere(table: exp.Table) -> bool:
    """Whether a table is of another schema, where it may have the name of one of ours."""
    return table.db.lower() not in ("", "public")


def _run(database: duckdb.DuckDBPyConnection, tree: exp.Expr) -> None:
    """A table, a view as a table, or rows; what DuckDB does not do is left out."""
    tree = tree.copy()
    if _renames(tree) or any(map(_is_elsewhere, tree.find_all(exp.Table))):
        return
    if isinstance(tree, exp.Create):
        tree.set("properties", None)
        tree.set("kind", "TABLE")
        for constraint in [*tree.find_all(exp.ColumnConstraint, exp.PrimaryKey, exp.UniqueColumnConstraint)]:
            constraint.pop()
    for table in tree.find_all(exp.Table):
        table.set("db", None)
    try:
        database.execute(tree.sql("duckdb", comments=False))
    except (duckdb.Error, SqlglotError):
        return


def _names(database: duckdb.DuckDBPyConnection) -> set[str]:
    return {str(name).lower() for (name,) in database.execute("SELECT table_name FROM duckdb_tables()").fetchall()}


def _tables(database: duckdb.DuckDBPyConnection) -> dict[str, Table]:
    return {name: _table(database, name) for name in _names(database)}


def _table(database: duckdb.DuckDBPyConnection, name: str) -> Table:
    """A table with its rows; values of structs, arrays and maps are NULL."""
    described = database.execute(f'DESCRIBE "{name}"').fetchall()
    types = {str(column).lower(): _type(str(kind)) for column, kind, *_ in described}
    names = (str(column).replace('"', '""') for column in types)
    chosen = ", ".join("NULL" if t.args.get("nested") else f'"{n}"' for n, t in zip(names, types.values(), strict=True))
    rows = database.execute(f'SELECT {chosen} FROM "{name}" LIMIT {MOST_ROWS}').fetchall()
    return Table({column: t.sql("spark").lower() for column, t in types.items()}, tuple(rows))


def _type(kind: str) -> exp.DataType:
    """A type of DuckDB's. Structs without names, which sqlglot does not know, are as good as others: all are NULL."""
    return exp.DataType.build("STRUCT(v INT)" if "TUPLE(" in kind else kind, dialect="duckdb")
