"""A target that is kept fresh step by step, on real Spark and Delta.

After each refresh it is compared with its query as plain Spark evaluates it, and `compare_only` has to agree.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from re import sub
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import DataFrame, SparkSession

from airflow_refresh_provider.compose import refreshes
from airflow_refresh_provider.core.definition.choices import OnDuplicate
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import Differences, Outcome, RunResult
from airflow_refresh_provider.delta.tables.target_log import DeltaTableLog
from airflow_refresh_provider.errors import RefreshError
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.spark.acts import sql
from airflow_refresh_provider.spark.connect.endpoint import Endpoint

NAME = "kept"
_TRACES = ("\tat ", "Exception", "SQLSTATE", "org.apache.spark", "Caused by")
_LOSSES = ("--delete-target", "DROP TABLE", "drop the table", "delete the table", "delete the target")
"""No error advises what costs a table."""
_NEWEST_FIRST = (
    "SELECT * EXCEPT (n) FROM (SELECT *, row_number() OVER (PARTITION BY {keys} ORDER BY {by} DESC NULLS LAST) AS n "
    "FROM ({query})) WHERE n = 1"
)


class Case:
    """One definition over `src`, in a folder of its own. `{src}` in a statement is the Delta table of that name."""

    def __init__(self, spark: SparkSession, folder: Path, endpoint: Endpoint) -> None:
        self.spark = spark
        self.folder = folder
        self.refreshes = refreshes(Places(str(folder / "control"), endpoint.url, str(folder / "spark")))
        self.name = NAME
        self._given: dict[str, Any] = {}

    def place(self, name: str) -> str:
        """Where the table of that name is."""
        return str(self.folder / name)

    def do(self, *statements: str) -> None:
        """Let Spark run statements."""
        for statement in statements:
            self.spark.sql(sub(r"\{(\w+)\}", lambda found: sql.table(self.place(found[1])), statement)).collect()

    def rows(self, name: str, /, **columns: Any) -> None:
        """Append rows to a plain Delta table, without Spark."""
        write_deltalake(self.place(name), _arrow(columns), mode="append")

    def update(self, name: str, where: str, /, **values: str) -> None:
        """Update rows of a plain Delta table, without Spark."""
        DeltaTable(self.place(name)).update(predicate=where, updates=values)

    def delete(self, name: str, where: str) -> None:
        """Delete rows of a plain Delta table, without Spark."""
        DeltaTable(self.place(name)).delete(where)

    def file(self, name: str, /, **columns: Any) -> None:
        """Write a parquet file."""
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(_arrow(columns), self.folder / name)

    def define(self, query: str, format: str = "delta", **fields: Any) -> None:
        """The definition that the next refresh registers."""
        given: dict[str, Any] = {"name": NAME, "target": self.place("target"), "query": query, "keys": ["id"]}
        inputs = {"src": {"path": self.place("src"), "format": format}}
        self._given = given | {"inputs": inputs} | fields

    def run(self, **request: Any) -> RunResult:
        """Register and refresh."""
        self.refreshes.register(Definition.build(**self._given))
        return self.refreshes.run(NAME, Request(**request))

    def refresh(self) -> RunResult:
        """Register and refresh; the target then is what the query gives."""
        result = self.run()
        self.check()
        return result

    def compare(self) -> Differences:
        """Register and compare only."""
        self.refreshes.register(Definition.build(**self._given))
        return self.refreshes.compare_only(NAME)

    def nothing_to_do(self) -> None:
        """Refresh; nothing is read or written."""
        assert self.refresh().outcome is Outcome.NOTHING_TO_DO

    def refused(self, code: str, *named: str) -> RefreshError:
        """Register and refresh; that fails with this code and names these things, and no row of the target changes."""
        before = _newest(self.place("target"))
        with pytest.raises(RefreshError) as raised:
            self.run()
        error = raised.value
        text = f"{error.message} {error.left} {error.next}"
        assert error.code == code, error.parts
        assert [name for name in named if name not in text] == [], error.parts
        assert [words for words in (*_TRACES, *_LOSSES) if words in text] == [], error.parts
        assert not _rows_changed_after(before, self.place("target")), error.parts
        return error

    def check(self) -> None:
        """The target is what plain Spark makes of the query, and a comparison finds no difference."""
        wanted = self._wanted()
        names = [sql.name(name) for name in wanted.columns]
        found = self.spark.read.format("delta").load(self.place("target")).selectExpr("true AS found", *names)
        rows: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
        for is_found, *row in found.unionAll(wanted.selectExpr("false AS found", *names)).collect():
            rows[is_found][_text(row)] += 1
        missing, wrong = rows[False] - rows[True], rows[True] - rows[False]
        assert not missing and not wrong, f"missing: {missing}; wrong: {wrong}"
        compared = self.refreshes.compare_only(NAME)
        assert compared.equal, compared

    def found(self, query: str) -> set[tuple[Any, ...]]:
        """What a query finds in the target, which goes by the name `target`."""
        self.spark.read.format("delta").load(self.place("target")).createOrReplaceTempView("target")
        return {tuple(row) for row in self.spark.sql(query).collect()}

    def _wanted(self) -> DataFrame:
        """The query, over what its inputs are to plain Spark."""
        definition = Definition.build(**self._given)
        for name, read in definition.inputs.items():
            self.spark.read.format(read.format).load(read.path).createOrReplaceTempView(name)
        query = definition.query_text
        if definition.on_duplicate is OnDuplicate.LATEST:
            keys = ", ".join(map(sql.name, definition.keys))
            query = _NEWEST_FIRST.format(keys=keys, by=sql.name(definition.latest_by or ""), query=query)
        return self.spark.sql(query)


def _newest(table: str) -> int:
    """The newest version of a table; -1 where there is none."""
    facts = DeltaTableLog().facts(table)
    return facts.version if facts else -1


def _rows_changed_after(version: int, table: str) -> bool:
    """Whether a commit after a version changed rows; one that only takes a table over does not."""
    return _newest(table) > version and any(c.data_change for c in DeltaTableLog().commits(table, after=version))


def _arrow(columns: dict[str, Any]) -> pa.Table:
    """A table; lists of numbers are INT, and others what pyarrow takes them for."""
    return pa.table({name: _array(values) for name, values in columns.items()})


def _array(values: Any) -> pa.Array:
    is_int = isinstance(values, list | range) and all(type(value) is int for value in values)
    return pa.array(values, pa.int32()) if is_int else pa.array(values)


def _text(value: Any) -> str:
    """A value as text: entries of maps in any order and zeros of any sign are the same."""
    if isinstance(value, dict):
        return str(sorted((_text(key), _text(entry)) for key, entry in value.items()))
    if isinstance(value, tuple | list):
        return str([_text(part) for part in value])
    return repr(value + 0.0) if isinstance(value, float) else repr(value)
