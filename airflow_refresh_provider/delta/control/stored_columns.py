"""The columns of the control tables: what each is called, holds and means, and the version of this format.

A root whose format is newer than FORMAT is refused. Adding a nullable column keeps the format; anything else makes a
new one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from arro3.core import Array, DataType, Field, Schema, Table

FORMAT = 1


class Kind(StrEnum):
    """What a column holds."""

    TEXT = "text"
    INTEGER = "integer"
    TIME = "time"  # UTC, microseconds


@dataclass(frozen=True)
class StoredColumn:
    """One column of a control table."""

    name: str
    kind: Kind
    meaning: str
    nullable: bool = False


STATE = (
    StoredColumn("name", Kind.TEXT, "the definition"),
    StoredColumn("seq", Kind.INTEGER, "counts the rows of a definition from 1; the highest is in force"),
    StoredColumn("event", Kind.TEXT, "the transition that led here"),
    StoredColumn("state", Kind.TEXT, "the state after it"),
    StoredColumn("run_id", Kind.TEXT, "the run in progress after it", nullable=True),
    StoredColumn("generation", Kind.INTEGER, "the definition's counter: the highest number drawn so far"),
    StoredColumn("at", Kind.TIME, "when it was written, by the writer's clock"),
    StoredColumn("nonce", Kind.TEXT, "drawn by the writer, identifies the writer's own row after a conflict"),
    StoredColumn("record", Kind.TEXT, "the whole record as JSON: definition, run, lease, plan, what is published"),
)

PROGRESS = (
    StoredColumn("name", Kind.TEXT, "the definition"),
    StoredColumn("run_id", Kind.TEXT, "the run"),
    StoredColumn("vnode", Kind.INTEGER, "the vnode; its latest row counts"),
    StoredColumn("stage", Kind.TEXT, "the stage of the run"),
    StoredColumn("unit", Kind.INTEGER, "the unit the vnode belongs to"),
    StoredColumn("chunk", Kind.INTEGER, "the last chunk done"),
    StoredColumn("generation", Kind.INTEGER, "the generation that did it"),
    StoredColumn("main_position", Kind.INTEGER, "the highest key hash done in the target", nullable=True),
    StoredColumn("staging_position", Kind.INTEGER, "the highest key hash done in staging", nullable=True),
    StoredColumn("inserted", Kind.INTEGER, "rows inserted"),
    StoredColumn("updated", Kind.INTEGER, "rows updated"),
    StoredColumn("deleted", Kind.INTEGER, "rows deleted"),
    StoredColumn("unchanged", Kind.INTEGER, "always 0: rows that were right already are counted by run"),
    StoredColumn("bytes", Kind.INTEGER, "bytes written"),
    StoredColumn("commit_version", Kind.INTEGER, "the target's version that holds the chunk", nullable=True),
    StoredColumn("at", Kind.TIME, "when the row was written"),
    StoredColumn("spent", Kind.TEXT, "what was spent on the chunk, as JSON, in one of its rows", nullable=True),
)

EVENTS = (
    StoredColumn("name", Kind.TEXT, "the definition"),
    StoredColumn("run_id", Kind.TEXT, "the run it belongs to", nullable=True),
    StoredColumn("event", Kind.TEXT, "what happened"),
    StoredColumn("generation", Kind.INTEGER, "the generation it happened under"),
    StoredColumn("at", Kind.TIME, "when"),
    StoredColumn("detail", Kind.TEXT, "more about it as JSON; for the end of a run its summary"),
    StoredColumn("mode", Kind.TEXT, "of the end of a published run: how it was done", nullable=True),
    StoredColumn(
        "fell_back", Kind.INTEGER, "1 where it read everything although its mode follows changes", nullable=True
    ),
    StoredColumn("inserted", Kind.INTEGER, "rows inserted by a published run", nullable=True),
    StoredColumn("updated", Kind.INTEGER, "rows updated", nullable=True),
    StoredColumn("deleted", Kind.INTEGER, "rows deleted", nullable=True),
    StoredColumn(
        "worked_ms", Kind.INTEGER, "of the end of any run: milliseconds that processes worked on it", nullable=True
    ),
    StoredColumn("spark_ms", Kind.INTEGER, "milliseconds of these in operations of Spark", nullable=True),
    StoredColumn("bytes_to_read", Kind.INTEGER, "bytes of inputs that there were to read", nullable=True),
    StoredColumn("bytes_written", Kind.INTEGER, "bytes written", nullable=True),
)

CONTROL_TABLES = {"state": STATE, "progress": PROGRESS, "events": EVENTS}
"""Folder below the control root -> its columns."""

_TIME = DataType.timestamp("us", tz="UTC")
_ARROW = {Kind.TEXT: DataType.utf8(), Kind.INTEGER: DataType.int64(), Kind.TIME: _TIME}


def schema_of(columns: tuple[StoredColumn, ...]) -> Schema:
    """The Arrow schema of a control table."""
    return Schema([Field(c.name, _ARROW[c.kind], nullable=c.nullable) for c in columns])


def table_of(columns: tuple[StoredColumn, ...], rows: list[dict[str, object]]) -> Table:
    """Rows as Arrow; times are aware datetimes."""
    arrays = [_array(c.kind, [row[c.name] for row in rows]) for c in columns]
    return Table.from_arrays(arrays, schema=schema_of(columns))


def _array(kind: Kind, values: list[object]) -> Array:
    if kind is Kind.TIME:
        return Array([_micros(v) for v in values], DataType.int64()).cast(_TIME)
    return Array(values, _ARROW[kind])


def _micros(value: object) -> int:
    assert isinstance(value, datetime)
    return (value - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
