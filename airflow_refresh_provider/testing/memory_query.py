"""What queries give over the tables of a lake in memory, as they were pinned.

`SELECT * FROM input` copies rows; every other query is evaluated as SQL.
"""

from __future__ import annotations

import re

from airflow_refresh_provider.core.changes.pins import DeltaPin, FilesPin, Pin
from airflow_refresh_provider.core.changes.sources import ChangedRows, FeedRows, FileTables, NewFiles
from airflow_refresh_provider.core.definition.columns import Columns, visible
from airflow_refresh_provider.core.plan.plan import Split
from airflow_refresh_provider.ports.engine import Source
from airflow_refresh_provider.testing.memory_lake import MemoryLake
from airflow_refresh_provider.testing.memory_rows import newest_of, shown
from airflow_refresh_provider.testing.memory_table import Rows
from airflow_refresh_provider.testing.spark_sql.evaluation import Relation, evaluate

_COPY = re.compile(r"\s*SELECT\s+\*\s+FROM\s+`?(\w+)`?\s*", re.IGNORECASE)


class MemoryQueries:
    """Evaluates the queries of sources."""

    def __init__(self, lake: MemoryLake) -> None:
        self._lake = lake

    def columns(self, source: Source) -> Columns:
        """Columns of the query's result. Raises Invalid for a query that is wrong or not supported in memory."""
        inputs = {name: self._columns(pin) for name, pin in source.pins.items()}
        if copied := _copied(source):
            return inputs[copied]
        return _evaluated(source.query, {name: Relation(columns, ()) for name, columns in inputs.items()}).columns

    def rows(self, source: Source, split: Split | None = None) -> Rows:
        """The query's rows at the pins, of one split's files when given; the newest of each key if so asked."""
        inputs = {name: self._read(pin, split.files if split else None) for name, pin in source.pins.items()}
        return self._result(source, inputs)

    def sides(self, source: Source, changes: dict[str, ChangedRows]) -> tuple[Rows, Rows]:
        """The query's rows over the input rows that were removed, and over those that were added."""
        sides = {name: self._sides(pin, changes[name]) for name, pin in source.pins.items()}
        removed, added = (self._result(source, {n: both[side] for n, both in sides.items()}) for side in (0, 1))
        return removed, added

    def _columns(self, pin: Pin) -> Columns:
        with self._lake.lock:
            table = self._lake.table(pin.location)
            version = table.newest if isinstance(pin, FilesPin) else table.versions[pin.version]
            return visible(version.columns)

    def _read(self, pin: Pin, only: tuple[str, ...] | None = None) -> Rows:
        """The rows of an input as it was pinned, or of some of its files."""
        with self._lake.lock:
            table = self._lake.table(pin.location)
            if isinstance(pin, FilesPin):
                files = {f.path: table.newest.files[f.path] for f in pin.files}
            else:
                files = table.versions[pin.version].files
            return tuple(row for name, rows in files.items() if only is None or name in only for row in rows)

    def _sides(self, pin: Pin, changes: ChangedRows) -> tuple[Rows, Rows]:
        """Removed and added rows of an input; of a change data feed all rows before and after it."""
        match changes:
            case FeedRows():
                assert isinstance(pin, DeltaPin)
                return self._read(pin.model_copy(update={"version": changes.first - 1})), self._read(pin)
            case NewFiles():
                return (), self._read(pin, changes.files)
            case FileTables():
                assert changes.went and changes.came
                return self._lake.rows(changes.went), self._lake.rows(changes.came)

    def _result(self, source: Source, inputs: dict[str, Rows]) -> Rows:
        """The query's rows over these; the newest of each key if so asked."""
        if copied := _copied(source):
            result = tuple(map(shown, inputs[copied]))
        else:
            relations = {name: _relation(self._columns(pin), inputs[name]) for name, pin in source.pins.items()}
            found = _evaluated(source.query, relations)
            names = [c.name for c in found.columns]
            result = tuple(dict(zip(names, values, strict=True)) for values in found.rows)
        return newest_of(result, source.keys, source.latest_by) if source.latest_by else result


def _copied(source: Source) -> str | None:
    """The input that the query copies."""
    copy = _COPY.fullmatch(source.query)
    return copy[1] if copy and copy[1] in source.pins else None


def _relation(columns: Columns, rows: Rows) -> Relation:
    return Relation(columns, tuple(tuple(row.get(c.name) for c in columns) for row in rows))


def _evaluated(query: str, inputs: dict[str, Relation]) -> Relation:
    return evaluate(query, tuple(inputs.items()))
