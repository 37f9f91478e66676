"""A keyed refresh in DuckDB: touched values, restricted inputs and a restricted result."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from types import MappingProxyType
from typing import Any
from uuid import UUID

import duckdb
import sqlglot
from sqlglot import exp

from airflow_refresh_provider.core.maintain.binding import (
    at_moment,
    bound,
    changed_name,
    touching,
    use_name,
    wide_name,
)
from airflow_refresh_provider.core.maintain.plan import Maintenance, Use
from airflow_refresh_provider.core.maintain.temporal_sql import turned
from airflow_refresh_provider.core.query.clock_functions import clock_spans
from airflow_refresh_provider.core.query.parse import parse
from airflow_refresh_provider.core.query.query import bind_clock
from tests.unit.maintain.catalogue import INPUTS
from tests.unit.maintain.tpch import TABLES

Row = tuple[Any, ...]
Rows = Counter[Row]
Inputs = Mapping[str, Sequence[Row]]

_ANY = "any_type"
STRUCT = "struct<x:int,y:string>"
NUMBERS, WORDS, DAYS = (None, 0, 1, 2), (None, "x", "y"), (None, date(2000, 1, 1), date(2000, 1, 2))
AMOUNTS = (None, Decimal("0.00"), Decimal("-1.10"), Decimal("12345678.99"))
VALUES: dict[str, tuple[Any, ...]] = {
    "int": NUMBERS,
    "string": WORDS,
    "date": DAYS,
    "decimal(10,2)": AMOUNTS,
    STRUCT: (None, *((number, word) for number in NUMBERS for word in WORDS)),
}
"""The values of random rows, by type."""
_LITERALS = {date: "DATE", datetime: "TIMESTAMP", time: "TIME", timedelta: "INTERVAL", float: "DOUBLE", UUID: "UUID"}
"""Types of values whose literals are casts of text."""


@lru_cache(maxsize=4096)
def as_duckdb(sql: str) -> str:
    """Spark's SQL as DuckDB's."""
    return sqlglot.transpile(sql, read="spark", write="duckdb")[0]


@lru_cache(maxsize=4096)
def _duckdb_type(kind: str) -> str:
    return exp.DataType.build(kind, dialect="spark").sql("duckdb")


@dataclass
class _Database:
    """Tables with these columns, by name. `loaded`: the columns and rows that each has in it now, as text."""

    columns: dict[str, Mapping[str, str]]
    connection: duckdb.DuckDBPyConnection = field(default_factory=lambda: duckdb.connect(config={"threads": 1}))
    loaded: dict[str, str] = field(default_factory=dict)

    def load(self, name: str, input: str, rows: Sequence[Row]) -> None:
        """Fill a table with the columns of an input, unless it has these rows: most of a test is loading them."""
        columns = self.columns[input]
        listed = ", ".join(f'"{c}" {_duckdb_type(kind)}' for c, kind in columns.items())
        content = f"{listed} {rows!r}"
        if self.loaded.get(name) == content:
            return
        self.loaded.pop(name, None)
        self.connection.execute(f'CREATE OR REPLACE TEMP TABLE "{name}" ({listed})')
        if rows:
            row = f"({', '.join('?' * len(columns))})"
            values = [_stored(value) for row in rows for value in row]
            self.connection.execute(f'INSERT INTO "{name}" VALUES {", ".join([row] * len(rows))}', values)
        self.loaded[name] = content

    def execute(self, statement: str) -> duckdb.DuckDBPyConnection:
        """Run a statement in Spark's SQL."""
        return self.connection.execute(as_duckdb(statement))

    def create_view(self, name: str, query: str) -> None:
        """A view of a query in Spark's SQL."""
        self.connection.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {as_duckdb(query)}")


_database = _Database({**INPUTS, **TABLES})


def add_tables(columns: Mapping[str, Mapping[str, str]]) -> None:
    """Table -> the names of its columns and their types; beside those of the catalogue and of TPC-H."""
    _database.columns.update(columns)


@contextmanager
def other_tables(columns: Mapping[str, Mapping[str, str]]) -> Iterator[None]:
    """Inside the block there are these tables and no others, in a database of their own."""
    global _database
    before, _database = _database, _Database(dict(columns))
    try:
        yield
    finally:
        _database.connection.close()
        _database = before


def create_view(name: str, query: str) -> None:
    """A view of a query over the tables."""
    _database.create_view(name, query)


def interrupt() -> None:
    """End the statement that runs, from another thread."""
    _database.connection.interrupt()


def _uncast(statement: str) -> str:
    """Without the casts to the types of the target, which there is none of here."""
    return re.sub(rf"try_cast\((.*?) AS {_ANY}\)", r"\1", statement)


def is_right_over_time(
    plan: Maintenance, query: str, old: Inputs, new: Inputs, before: datetime, now: datetime
) -> bool:
    """As `is_right`, for a query that reads the clock: the old result is that of a moment before."""
    clocks = clock_spans(parse(query))
    moved = turned(plan.temporal, before, now)
    _, result = whole(old, bind_clock(query, clocks, before))
    plan, query = at_moment(plan, clocks, now), bind_clock(query, clocks, now)
    return is_right(plan, query, old, new, before=result, turned=moved)


def is_right(
    plan: Maintenance,
    query: str,
    old: Inputs,
    new: Inputs,
    *,
    before: Rows | None = None,
    turned: Mapping[str, str] = MappingProxyType({}),
) -> bool:
    """Whether the rows with touched anchors, computed from restricted inputs, make the old result the new one.

    Only inputs that are followed change. `before`: the old result, if the query over the old inputs does not give it.
    `turned`: input -> the condition for which rows of it count as changed.
    """
    followed = {route.input for route in plan.routes}
    new = {name: rows if name in followed else old[name] for name, rows in new.items()}
    columns, result = whole(old, query)
    before = result if before is None else before
    _, after = whole(new, query)
    keys = touched(plan, old, new, turned)
    places = [columns.index(anchor) for anchor in plan.anchors]
    replaced = Counter({row: n for row, n in before.items() if tuple(row[p] for p in places) in keys})
    return before - replaced + part(plan, new, query, keys) == after


def random_rows(chance: random.Random, columns: Mapping[str, str], most: int) -> list[Row]:
    """A few rows with few different values."""
    return [tuple(chance.choice(VALUES[kind]) for kind in columns.values()) for _ in range(chance.randint(0, most))]


def random_changes(seed: int, tables: Mapping[str, Mapping[str, str]]) -> tuple[Inputs, Inputs]:
    """Inputs before and after some rows were removed and others added."""
    chance = random.Random(seed)
    return changed(chance, tables, lambda name, most: random_rows(chance, tables[name], most))


def changed(
    chance: random.Random, names: Iterable[str], rows: Callable[[str, int], list[Row]]
) -> tuple[Inputs, Inputs]:
    """Inputs before and after; `rows` makes at most so many rows of an input."""
    old = {name: rows(name, 6) for name in names}
    new = {name: [row for row in old[name] if chance.random() < 0.7] + rows(name, 2) for name in names}
    return old, new


def whole(inputs: Inputs, query: str) -> tuple[list[str], Rows]:
    """Names of the columns and rows of the whole result."""
    for name, rows in inputs.items():
        _database.load(name, name, rows)
    found = _database.execute(query)
    return _names(found), Counter(_rows(found))


def touched(plan: Maintenance, old: Inputs, new: Inputs, turned: Mapping[str, str] = MappingProxyType({})) -> set[Row]:
    """The values of the anchors that the changes of the inputs touch, and the rows that a condition is true for."""
    for name in new:
        went, came = (_used(plan, name, rows) for rows in (_less(old, new, name), _less(new, old, name)))
        _database.load(changed_name(name), name, [*(went - came), *(came - went)])
        _database.load(wide_name(name), name, [*new[name], *_less(old, new, name)])
        if name in turned:
            _database.load(name, name, new[name])
            condition = as_duckdb(f"SELECT * FROM `{name}` WHERE {turned[name]}")
            _database.connection.execute(f'INSERT INTO "{changed_name(name)}" {condition}')
            del _database.loaded[changed_name(name)]
    found: set[Row] = set()
    for route in plan.routes:
        statement = _uncast(touching(route, [_ANY] * len(plan.anchors)))
        found |= set(_rows(_database.execute(statement)))
    return found


def _less(one: Inputs, other: Inputs, name: str) -> Rows:
    return Counter(one[name]) - Counter(other[name])


def _used(plan: Maintenance, name: str, rows: Rows) -> Rows:
    """Rows without the columns that the query does not read: they have NULL there."""
    columns = list(_database.columns[name])
    kept = [column in plan.used.get(name, columns) for column in columns]
    found: Rows = Counter()
    for row, count in rows.items():
        found[tuple(v if keeps else None for v, keeps in zip(row, kept, strict=True))] += count
    return found


def part(plan: Maintenance, inputs: Inputs, query: str, keys: set[Row]) -> Rows:
    """The rows of the result with touched anchors, from restricted inputs."""
    for name, rows in inputs.items():
        _database.load(name, name, rows)
    for number, use in enumerate(plan.uses):
        _database.connection.execute(f"CREATE OR REPLACE TEMP VIEW {use_name(number)} AS {_restricted(use, keys)}")
    found = _database.execute(bound(query, plan.uses))
    places = [_names(found).index(anchor) for anchor in plan.anchors]
    return Counter(row for row in _rows(found) if tuple(row[p] for p in places) in keys)


def _stored(value: Any) -> Any:
    """A value as DuckDB takes it; a struct is a tuple here, which can be counted."""
    return dict(zip("xy", value, strict=True)) if isinstance(value, tuple) else value


def _restricted(use: Use, keys: set[Row]) -> str:
    if use.restrictions is None:
        return f'SELECT * FROM "{use.input}"'
    tests = [_leads(restriction, key) for restriction in use.restrictions for key in keys]
    return f'SELECT * FROM "{use.input}" WHERE {" OR ".join(f"({test})" for test in tests) or "false"}'


def _leads(restriction: tuple[str | None, ...], key: Row) -> str:
    known = [(n, as_duckdb(f"SELECT {value}")[7:]) for n, value in enumerate(restriction) if value is not None]
    return " AND ".join(f"({value}) IS NOT DISTINCT FROM {_literal(key[n])}" for n, value in known)


def _literal(value: Any) -> str:
    if value is None or isinstance(value, int | Decimal):
        return "NULL" if value is None else str(value)
    if isinstance(value, bytes):
        return f"from_hex('{value.hex()}')"
    text = str(value).replace("'", "''")
    return f"'{text}'" if isinstance(value, str) else f"CAST('{text}' AS {_LITERALS[type(value)]})"


def _rows(found: Any) -> list[Row]:
    return [tuple(_comparable(value) for value in row) for row in found.fetchall()]


def _comparable(value: Any) -> Any:
    """A value that is equal to itself and can be counted."""
    if isinstance(value, dict):
        return tuple((key, _comparable(some)) for key, some in value.items())
    if isinstance(value, list):
        return tuple(_comparable(some) for some in value)
    return "NaN" if value != value else value


def _names(found: Any) -> list[str]:
    return [column[0].lower() for column in found.description]
