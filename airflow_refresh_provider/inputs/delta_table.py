"""Inputs that are Delta tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

from airflow_refresh_provider.core.changes.history import InputHistory
from airflow_refresh_provider.core.changes.pins import DeltaPin
from airflow_refresh_provider.core.changes.reads import Read, delta_table, quoted
from airflow_refresh_provider.core.changes.sources import ChangedRows, ChangeSource, SeparateRows
from airflow_refresh_provider.core.definition.inputs import Input
from airflow_refresh_provider.core.definition.locations import read_otherwise
from airflow_refresh_provider.core.log.commits import Commit
from airflow_refresh_provider.core.log.note import NoteKind, read_note
from airflow_refresh_provider.core.run.ownership import hidden_columns
from airflow_refresh_provider.delta.storage.file_lists import list_files
from airflow_refresh_provider.delta.storage.log_files import has_log, recent_log
from airflow_refresh_provider.delta.storage.object_stores import storage
from airflow_refresh_provider.delta.tables.column_types import column_types
from airflow_refresh_provider.delta.tables.delta_table import listed_files, open_table, plain_files, size_of
from airflow_refresh_provider.delta.tables.feed_files import feed_files
from airflow_refresh_provider.delta.tables.file_tables import lay_out
from airflow_refresh_provider.delta.tables.input_history import changed_files, history
from airflow_refresh_provider.delta.tables.opened_tables import EACH_TIME, OpenedTables
from airflow_refresh_provider.delta.tables.parquet_footers import not_parquet
from airflow_refresh_provider.delta.tables.target_log import DeltaTableLog
from airflow_refresh_provider.errors import Failed, Invalid, RefreshError
from airflow_refresh_provider.inputs.listed_files import missing
from airflow_refresh_provider.ports.input_kind import InputKind
from airflow_refresh_provider.ports.table_log import LogGap, Opened


class DeltaTables:
    """Delta tables, read through their logs. Nothing is kept between calls, but in `keeping`."""

    def __init__(self, tables: OpenedTables = EACH_TIME) -> None:
        self._tables = tables

    def keeping(self, opened: Opened) -> DeltaTables:
        """The tables at one moment."""
        return DeltaTables(self._tables.keeping(opened))

    def pin(self, name: str, input: Input) -> DeltaPin:
        """The newest version. Raises Invalid when there is no Delta table."""
        path = input.path
        if recent_log(path) is None:
            raise _no_table(name, path)
        if read_otherwise(path):
            raise Invalid(
                "input_place",
                f"the input {name} cannot be read at {path}: a backslash, or % before two hexadecimal digits, is "
                "resolved to another path by delta-rs",
                next="Move the table, or link to it, at a path without them.",
            )
        table = self._tables.at(path)
        if table is None:
            raise _no_table(name, path)
        rows, size = size_of(table, path, listed_files(table))
        about = table.metadata()
        return DeltaPin(
            location=path,
            table_id=str(about.id),
            version=table.version(),
            rows=rows,
            bytes=size,
            hidden=hidden_columns(about.configuration),
            quoted_partitions=quoted(about.partition_columns),
        )

    def unreadable(self, pin: DeltaPin) -> str | None:
        """Why the pinned version cannot be read any more, None when it can."""
        with storage("reading an input", pin.location):
            try:
                return _replaced(pin)
            except RefreshError:
                recent_log(pin.location)  # raises when the storage fails: then the version is not lost
            try:
                return _replaced(pin)
            except RefreshError as error:
                return f"version {pin.version} of {pin.location} cannot be opened any more: {error.message}"

    def rows(self, pin: DeltaPin) -> int | None:
        """How many rows the log says; None when it has no statistics."""
        return pin.rows

    def files(self, pin: DeltaPin) -> tuple[tuple[str, int], ...] | None:
        """(path, size) of the plain parquet files that hold exactly the pinned rows, None when no such list exists.

        There is one when the table has no deletion vectors, no partition columns and no column mapping, and no column
        whose type the files alone do not have.
        """
        return plain_files(pin.location, pin.version)

    def columns(self, pin: DeltaPin) -> dict[str, str]:
        """The columns of the pinned version, hidden ones left out."""
        table = self._tables.at(pin.location, pin.version)
        return {c.name: c.type for c in column_types(table) if c.name not in pin.hidden} if table else {}

    def history(self, applied: DeltaPin, newest: DeltaPin) -> InputHistory | None:
        """The commits after one version up to another; None when the log no longer has all of them."""
        return history(applied, newest, self._tables)

    def changes(
        self, applied: DeltaPin, newest: DeltaPin, source: ChangeSource, folder: str, options: Mapping[str, str]
    ) -> ChangedRows:
        """The change data feed, by its files where these are enough; or the changed files as tables in a folder."""
        match source:
            case ChangeSource.FEED:
                return self._feed(applied, newest, options)
            case ChangeSource.FILES:
                return _file_tables(applied, newest, folder, options)

    def _feed(self, applied: DeltaPin, newest: DeltaPin, options: Mapping[str, str]) -> ChangedRows:
        """Reader options are those of Delta's reader."""
        with suppress(LogGap):
            if not options and (files := feed_files(applied, newest, self._tables)):
                return files
        return newest.feed_since(applied, options)

    def watch(self, input: Input) -> Callable[[], str]:
        """The newest version that changed rows. A call reads the commits since the call before."""
        return _Watch(input.path).newest_change


class _Watch:
    """A table and the versions that were seen of it. The first call sees a change, whatever there is."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._seen = -1
        self._changed = -1
        self._log = DeltaTableLog()

    def newest_change(self) -> str:
        """The version, as text."""
        newest = self._log.newest(self._path)
        if newest < self._seen or self._seen < 0:
            self._changed = newest  # first seen, or another table
        elif newest > self._seen:
            self._changed = self._changed_since(newest)
        self._seen = newest
        return str(self._changed)

    def _changed_since(self, newest: int) -> int:
        try:
            commits = self._log.commits(self._path, after=self._seen, upto=newest)
        except LogGap:
            return newest
        return max((c.version for c in commits if c.data_change or _publishes(c)), default=self._changed)


def _publishes(commit: Commit) -> bool:
    """Whether it is a seal. It changes no row, but the rows of earlier commits are published by it."""
    note = read_note(commit.note)
    return note is not None and note.kind is NoteKind.SEAL


def _replaced(pin: DeltaPin) -> str | None:
    """Why what is there is not what was pinned."""
    log = recent_log(pin.location)
    kept = log.metadata(pin.version) if log and log.newest == pin.version else None
    table_id = kept["id"] if kept else None
    if table_id is None:
        table = open_table(pin.location, pin.version)
        if table is None and log is None:
            return f"there is no Delta table at {pin.location} any more"
        if table is None:
            return f"version {pin.version} of {pin.location} has been cleaned up from its log"
        table_id = table.metadata().id
    return None if str(table_id) == pin.table_id else f"{pin.location} is another table now"


def _file_tables(applied: DeltaPin, newest: DeltaPin, folder: str, options: Mapping[str, str]) -> SeparateRows:
    """The added and the removed files, laid out as tables below a folder."""
    location = newest.location
    table = open_table(location, newest.version)
    try:
        files = changed_files(applied, newest)
    except LogGap as gap:
        raise _no_changes(str(gap)) from None
    if table is None:
        raise _no_changes(f"{location} has no version {newest.version}")
    reads: dict[str, Read] = {}
    for name, some in (("removed", files.removed), ("added", files.added)):
        if some:
            lay_out(table, location, some, f"{folder}/{name}")
            reads[name] = delta_table(f"{folder}/{name}", options)
    return SeparateRows(removed=reads.get("removed"), added=reads.get("added"))


def _no_changes(why: str) -> Failed:
    return Failed(
        "input_missing",
        f"the changes of an input cannot be read any more: {why}",
        left="The target was not changed.",
        next="Run again with mode full.",
    )


def _no_table(name: str, path: str) -> Invalid:
    if has_log(path):
        return Invalid(
            "input_not_delta",
            f"the log of the input {name} at {path} has no commit files any more",
            next="Commit to the table again, or restore the files of its log.",
        )
    with storage(f"reading the input {name}", path):
        found = list_files(path)
        if found is None:
            return missing(name, path, "Delta table")
        if found and not not_parquet(found[:1]):
            return Invalid(
                "input_is_parquet",
                f"the input {name} at {path} is plain parquet, and its format says delta",
                next="Write `format: parquet`.",
            )
    return Invalid(
        "input_not_delta",
        f"the input {name} at {path} is not a Delta table: there is no _delta_log in it",
        next="Correct the path, or write which `format` it has.",
    )


KIND: InputKind[DeltaPin] = DeltaTables()
