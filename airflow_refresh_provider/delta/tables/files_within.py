"""The files of a table, for Spark to read them by themselves: those that may have rows within spans, or all (ADR 75).

By the statistics of the log, as in `file_spans`. Rows that deletion vectors hide are named by their positions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from deltalake import DeltaTable

from airflow_refresh_provider.core.changes.reads import BASE_PATH, Read
from airflow_refresh_provider.core.definition.columns import INTEGERS, Columns
from airflow_refresh_provider.core.maintain.spans import Spans, rows_within, worth_reading_by_files
from airflow_refresh_provider.delta.storage.file_lists import hidden
from airflow_refresh_provider.delta.storage.object_stores import is_local
from airflow_refresh_provider.delta.tables.column_types import column_types, quoted
from airflow_refresh_provider.delta.tables.deletion_vectors import hidden_positions, stored_hidden_rows
from airflow_refresh_provider.delta.tables.delta_table import (
    DELETION_VECTORS,
    features,
    is_plain_path,
    listed_files,
    stored_plainly,
)
from airflow_refresh_provider.delta.tables.file_spans import ends_of
from airflow_refresh_provider.ports.table_log import SpansOf

MOST_FILES = 64
"""Spark asks the storage for each."""
FEW_FILES, FEW_FAR_FILES = 32, 2
"""All of so many files are read by themselves: Spark lists more in a job.

A storage that is far away takes as long to say of two that they are there as Spark takes to plan to read a table.
"""
FEW_BYTES = 64 << 20
"""Of all these files: to read rows takes Spark a little longer so than through Kernel."""
MOST_DELETED = 100_000
"""So many positions are sent to Spark with a statement."""
MOST_ROWS = 100_000_000
"""Of a table with deleted rows: delta-rs holds a byte for each row of a file with a deletion vector."""
_OF_FILES = "_metadata"
"""Spark's own column with the position of a row, hidden by one of the table with that name."""


def files_within(table: DeltaTable, location: str, ways: Sequence[SpansOf]) -> Read | None:
    """The files that may have rows within the spans in one of the ways; None where the table has to be read."""
    ways = [_comparable(column_types(table), way) for way in ways]
    if not all(ways):
        return None
    found = listed_files(table)
    rows, names, sizes = _rows_of(found), found["path"].to_pylist(), found["size_bytes"].to_pylist()
    if not rows:
        return None
    within = [min(of, sum(near)) for of, *near in zip(rows, *(_of_way(found, way, rows) for way in ways), strict=True)]
    chosen = [name for name, near in zip(names, within, strict=True) if near] or names[:1]  # none: the whole folder
    read = sum(size * near // max(1, of) for size, near, of in zip(sizes, within, rows, strict=True))
    worth = worth_reading_by_files(read, sum(sizes), len(chosen), local=is_local(location))
    return read_of(table, location, chosen) if worth else None


def few_files(table: DeltaTable, location: str, *, deleted: bool) -> Read | None:
    """All files, where they are few; None where the table has to be read, and with deleted rows unless `deleted`."""
    listed = listed_files(table)
    names = listed["path"].to_pylist()
    most = FEW_FILES if is_local(location) else FEW_FAR_FILES
    if not 0 < len(names) <= most or sum(listed["size_bytes"].to_pylist()) > FEW_BYTES:
        return None
    vectors = DELETION_VECTORS in features(table)
    if vectors and not deleted and stored_hidden_rows(location, table.version()) != 0:
        return None
    return read_of(table, location, names)


def read_of(table: DeltaTable, location: str, names: list[str]) -> Read | None:
    """How some files of the version opened are read by themselves; None where the table has to say it."""
    columns = column_types(table)
    plain = all(is_plain_path(name) and not hidden(name) for name in names)
    if not (plain and stored_plainly(table)) or len(names) > MOST_FILES or _OF_FILES in {c.name for c in columns}:
        return None
    deleted = _deleted(table, location, names)
    if deleted is None:
        return None
    return Read(
        location=location,
        format="parquet",
        options={BASE_PATH: location},
        paths=tuple(f"{location}/{name}" for name in names),
        schema_text=", ".join(f"{quoted(c.name)} {c.type}" for c in columns),
        file_format="parquet",
        deleted=deleted,
    )


def _rows_of(files: Any) -> list[int]:
    """The rows of each file; nothing where the log does not say them all."""
    known = files["num_records"].to_pylist() if "num_records" in files.column_names else [None]
    return [int(rows) for rows in known if rows is not None] if None not in known else []


def _comparable(columns: Columns, way: SpansOf) -> SpansOf:
    """The columns of a way of which statistics say whether they are within their spans."""
    kinds = {c.name.lower(): _kind(c.type) for c in columns}
    return {c: s for c, s in way.items() if kinds.get(c.lower()) == _kind(s.type) != "" and not s.nulls}


def _kind(type_name: str) -> str:
    """What values of a type are compared as; nothing for types of which statistics do not have the exact values."""
    return "number" if type_name in INTEGERS else "day" if type_name == "date" else ""


def _of_way(files: Any, way: SpansOf, rows: list[int]) -> list[int]:
    """About how many rows of each file are within the spans of all columns of a way."""
    return [min(each) for each in zip(*(_of_column(files, c, spans, rows) for c, spans in way.items()), strict=True)]


def _of_column(files: Any, column: str, spans: Spans, rows: list[int]) -> Iterator[int]:
    for low, high, of in zip(*ends_of(files, column), rows, strict=True):
        yield of if low is None or high is None else rows_within(spans, low, high, of)


def _deleted(table: DeltaTable, location: str, names: list[str]) -> tuple[tuple[int, ...], ...] | None:
    """The positions of the deleted rows of each file, none where there are no such rows; None where they are many."""
    known = stored_hidden_rows(location, table.version()) if DELETION_VECTORS in features(table) else 0
    if known == 0:
        return ()
    ends = [name.rpartition("/")[2] for name in names]
    many = (known or 0) > MOST_DELETED or sum(_rows_of(listed_files(table))) > MOST_ROWS
    of_file = None if many or len(set(ends)) < len(ends) else hidden_positions(table)
    if of_file is None or known not in (None, sum(map(len, of_file.values()))):
        return None
    found = tuple(of_file.get(end, ()) for end in ends)
    count = sum(map(len, found))
    return None if count > MOST_DELETED else found if count else ()
