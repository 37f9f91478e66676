"""A keyed refresh in DuckDB: touched values, restricted inputs and restricted result, as the engine does it on Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import duckdb
import sqlglot

from airflow_refresh_provider.core.maintain.plan import Maintenance, Route, Use

Row = tuple[Any, ...]
Rows = Counter[Row]


@dataclass(frozen=True)
class Table:
    """The columns of an input and their DuckDB types."""

    columns: Mapping[str, str]


@lru_cache(maxsize=4096)
def as_duckdb(sql: str) -> str:
    """Spark's SQL as DuckDB's."""
    return sqlglot.transpile(sql, read="spark", write="duckdb")[0]


_connection = duckdb.connect(config={"threads": 1})


def _load(name: str, table: Table, rows: Sequence[Row]) -> None:
    listed = ", ".join(f'"{c}" {t}' for c, t in table.columns.items())
    _connection.execute(f'CREATE OR REPLACE TEMP TABLE "{name}" ({listed})')
    if rows:
        marks = ", ".join(["(" + ", ".join("?" * len(table.columns)) + ")"] * len(rows))
        _connection.execute(f'INSERT INTO "{name}" VALUES {marks}', [value for row in rows for value in row])


def whole(tables: Mapping[str, Table], inputs: Mapping[str, Sequence[Row]], query: str) -> tuple[list[str], Rows]:
    """Names of the columns and rows of the whole result."""
    for name, rows in inputs.items():
        _load(name, tables[name], rows)
    found = _connection.execute(as_duckdb(query))
    return [d[0].lower() for d in found.description], Counter(found.fetchall())


def touched(
    tables: Mapping[str, Table], plan: Maintenance, old: Mapping[str, Sequence[Row]], new: Mapping[str, Sequence[Row]]
) -> set[Row]:
    """The values of the anchors that the changes of the inputs touch."""
    for name, table in tables.items():
        went, came = Counter(old[name]) - Counter(new[name]), Counter(new[name]) - Counter(old[name])
        _load(f"changed_{name}", table, [*went, *came])
        _load(f"wide_{name}", table, [*new[name], *went])
    found: set[Row] = set()
    for route in plan.routes:
        found |= set(_connection.execute(as_duckdb(_touching(route))).fetchall())
    return found


def _touching(route: Route) -> str:
    values = ", ".join(f"{value} AS k{n}" for n, value in enumerate(route.values))
    joins = "".join(f" JOIN wide_{hop.input} {hop.alias} ON {hop.on}" for hop in route.hops)
    return f"SELECT DISTINCT {values} FROM changed_{route.input} h0{joins}"


def part(
    tables: Mapping[str, Table], plan: Maintenance, inputs: Mapping[str, Sequence[Row]], query: str, keys: set[Row]
) -> Rows:
    """The rows of the result with touched anchors, from restricted inputs."""
    for name, rows in inputs.items():
        _load(name, tables[name], rows)
    for number, use in enumerate(plan.uses):
        _connection.execute(f"CREATE OR REPLACE TEMP VIEW use_{number} AS {_restricted(use, keys)}")
    found = _connection.execute(as_duckdb(_bound(query, plan.uses)))
    names = [d[0].lower() for d in found.description]
    places = [names.index(anchor) for anchor in plan.anchors]
    return Counter(row for row in found.fetchall() if tuple(row[p] for p in places) in keys)


def _restricted(use: Use, keys: set[Row]) -> str:
    if use.restrictions is None:
        return f'SELECT * FROM "{use.input}"'
    tests = []
    for values in use.restrictions:
        known = [(n, value) for n, value in enumerate(values) if value is not None]
        for key in keys:
            tests.append(" AND ".join(f"({as_duckdb('SELECT ' + v)[7:]}) IS NOT DISTINCT FROM {_literal(key[n])}" for n, v in known))
    condition = " OR ".join(f"({test})" for test in tests) or "false"
    return f'SELECT * FROM "{use.input}" WHERE {condition}'


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    return str(value) if isinstance(value, int | float) else f"'{value}'"


def _bound(query: str, uses: Sequence[Use]) -> str:
    done, parts = 0, []
    for number, use in enumerate(uses):
        alias = "" if use.aliased else f" AS {use.input}"
        parts += [query[done : use.start], f"use_{number}{alias}"]
        done = use.end
    return "".join([*parts, query[done:]])
