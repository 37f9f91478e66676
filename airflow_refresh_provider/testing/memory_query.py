"""What queries give over the tables of a lake in memory, as they were pinned.

`SELECT * FROM input` copies rows; every other query is evaluated as SQL.
"""

from __future__ import annotations

import re

from airflow_refresh_provider.core.changes.reads import Read
from airflow_refresh_provider.core.changes.sources import ChangedRows, FeedRows, SeparateRows
from airflow_refresh_provider.core.definition.columns import Columns
from airflow_refresh_provider.core.maintain.binding import changed_name, touching, wide_name
from airflow_refresh_provider.core.plan.plan import Split
from airflow_refresh_provider.errors import Failed
from airflow_refresh_provider.ports.tasks import Source, TouchTask
from airflow_refresh_provider.testing.memory_lake import MemoryLake
from airflow_refresh_provider.testing.memory_rows import left_over, newest_of
from airflow_refresh_provider.testing.memory_table import Rows, Version
from airflow_refresh_provider.testing.spark_sql.evaluation import Relation, evaluate

_COPY = re.compile(r"\s*SELECT\s+\*\s+FROM\s+`?(\w+)`?\s*", re.IGNORECASE)


class MemoryQueries:
    """Evaluates the queries of sources."""

    def __init__(self, lake: MemoryLake) -> None:
        self._lake = lake

    def columns(self, source: Source) -> Columns:
        """Columns of the query's result. Raises Invalid for a query that is wrong or not supported in memory."""
        inputs = {name: self._columns(read) for name, read in source.reads.items()}
        if copied := _copied(source):
            return inputs[copied]
        return _evaluated(source.query, {name: Relation(columns, ()) for name, columns in inputs.items()}).columns

    def rows(self, source: Source, split: Split | None = None) -> Rows:
        """The query's rows at the pins, of one split's files when given; the newest of each key if so asked."""
        reads = {name: read.of_files(split.files) if split else read for name, read in source.reads.items()}
        inputs = {name: self._read(read) for name, read in reads.items()}
        return self._result(source, inputs)

    def sides(self, source: Source, changes: dict[str, ChangedRows]) -> tuple[Rows, Rows]:
        """The query's rows over the input rows that were removed, and over those that were added."""
        sides = {
            name: left_over(*self._sides(changes[name])) if name in changes else (self._read(read), self._read(read))
            for name, read in source.reads.items()
        }
        removed, added = (self._result(source, {n: both[side] for n, both in sides.items()}) for side in (0, 1))
        return removed, added

    def touched(self, task: TouchTask) -> Rows:
        """The values of the anchors that changed rows touch."""
        relations: dict[str, Relation] = {}
        for name, read in task.source.reads.items():
            columns = self._columns(read)
            sides = self._sides(task.changes[name]) if name in task.changes else ((), ())
            used = task.maintenance.used.get(name) or tuple(c.name.lower() for c in columns)
            read_columns = tuple(c for c in columns if c.name.lower() in used)
            changed = (tuple({c.name: row[c.name] for c in read_columns} for row in side) for side in sides)
            went, came = left_over(*changed)
            turned = self._turned(read, columns, task.turned[name]) if name in task.turned else ()
            relations[changed_name(name)] = _relation(read_columns, (*went, *came, *turned))
            relations[wide_name(name)] = _relation(columns, (*self._read(read), *left_over(*sides)[0]))
        types = {c.name.lower(): c.type for c in task.target.columns}
        kinds = [types[anchor] for anchor in task.maintenance.anchors]
        routes = (route for route in task.maintenance.routes if route.input in task.touching)
        found = (_evaluated(touching(route, kinds), relations).rows for route in routes)
        return tuple({f"k{n}": v for n, v in enumerate(values)} for values in {row for rows in found for row in rows})

    def _turned(self, read: Read, columns: Columns, condition: str) -> Rows:
        """The rows of an input that a condition is true for."""
        rows = _evaluated(f"SELECT * FROM rows WHERE {condition}", {"rows": _relation(columns, self._read(read))}).rows
        return tuple(dict(zip((c.name for c in columns), row, strict=True)) for row in rows)

    def _columns(self, read: Read) -> Columns:
        with self._lake.lock:
            return tuple(c for c in self._version(read).columns if c.name not in read.hidden)

    def _version(self, read: Read) -> Version:
        table = self._lake.table(read.location)
        version = (read.columns_of or read).options.get("versionAsOf")
        return table.newest if version is None else table.versions[int(version)]

    def _read(self, read: Read) -> Rows:
        """The rows of a table, or of some of its files."""
        with self._lake.lock:
            files = self._version(read).files
            paths = read.paths or tuple(files)
            if lost := next((path for path in paths if path not in files), None):
                raise _file_missing(lost)
            return tuple(row for path in paths for row in files[path])

    def _sides(self, changes: ChangedRows) -> tuple[Rows, Rows]:
        """Removed and added rows of an input; of a change data feed all rows before and after it."""
        match changes:
            case FeedRows(feed=feed):
                with self._lake.lock:
                    first, last = (int(feed.options[name]) for name in ("startingVersion", "endingVersion"))
                    versions = self._lake.table(feed.location).versions
                    return versions[first - 1].rows, versions[last].rows
            case SeparateRows(removed=removed, added=added):
                return self._read(removed) if removed else (), self._read(added) if added else ()

    def _result(self, source: Source, inputs: dict[str, Rows]) -> Rows:
        """The query's rows over these; the newest of each key if so asked."""
        if copied := _copied(source):
            hidden = source.reads[copied].hidden
            result = tuple({n: v for n, v in row.items() if n not in hidden} for row in inputs[copied])
        else:
            relations = {name: _relation(self._columns(read), inputs[name]) for name, read in source.reads.items()}
            found = _evaluated(source.query, relations)
            names = [c.name for c in found.columns]
            result = tuple(dict(zip(names, values, strict=True)) for values in found.rows)
        return newest_of(result, source.keys, source.latest_by) if source.latest_by else result


def _file_missing(path: str) -> Failed:
    return Failed(
        "input_missing",
        f"the file {path} is not there",
        left="Nothing was changed.",
        next="Run again: a new run reads the files that are there then.",
    )


def _copied(source: Source) -> str | None:
    """The input that the query copies."""
    copy = _COPY.fullmatch(source.query)
    return copy[1] if copy and copy[1] in source.reads else None


def _relation(columns: Columns, rows: Rows) -> Relation:
    return Relation(columns, tuple(tuple(row.get(c.name) for c in columns) for row in rows))


def _evaluated(query: str, inputs: dict[str, Relation]) -> Relation:
    return evaluate(query, tuple(inputs.items()))
