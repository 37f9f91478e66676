"""Kinds of inputs in memory: tables of a lake as Delta tables, or as lists of their files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from itertools import pairwise
from typing import Self

from airflow_refresh_provider.core.changes.history import InputCommit, InputHistory
from airflow_refresh_provider.core.changes.listed import FilesOfPin
from airflow_refresh_provider.core.changes.pins import DeltaPin, FilesPin, FileStamp
from airflow_refresh_provider.core.changes.reads import delta_table
from airflow_refresh_provider.core.changes.sources import ChangedRows, ChangeSource, ChangeSourceInfo, SeparateRows
from airflow_refresh_provider.core.definition.inputs import Input
from airflow_refresh_provider.core.log.commits import Commit
from airflow_refresh_provider.core.run.ownership import hidden_columns
from airflow_refresh_provider.errors import Invalid
from airflow_refresh_provider.ports.input_kind import InputKinds
from airflow_refresh_provider.ports.table_log import Opened
from airflow_refresh_provider.testing.memory_lake import BEGINNING, MemoryLake
from airflow_refresh_provider.testing.memory_table import ROW_BYTES, MemoryTable, Version, changed_files

_FILES_KEPT = timedelta(days=7)
_LOG_KEPT = timedelta(days=30)


class MemoryTables:
    """The fake of Delta tables."""

    def __init__(self, lake: MemoryLake) -> None:
        self._lake = lake

    def keeping(self, opened: Opened) -> Self:
        """The same: to open a table costs nothing here."""
        return self

    def pin(self, name: str, input: Input) -> DeltaPin:
        """The table at its newest version. Raises Invalid when it is missing."""
        table = _table(self._lake, name, input)
        with self._lake.lock:
            newest = table.newest
            return DeltaPin(
                location=input.path,
                table_id=table.table_id,
                version=newest.commit.version,
                rows=len(newest.rows),
                bytes=ROW_BYTES * len(newest.rows),
                hidden=hidden_columns(newest.properties),
            )

    def unreadable(self, pin: DeltaPin) -> str | None:
        """Why the pinned version cannot be read any more."""
        with self._lake.lock:
            table = self._lake.tables.get(pin.location)
            if table is None:
                return f"{pin.location} is gone"
            if table.table_id != pin.table_id:
                return f"{pin.location} is another table now"
            kept = table.oldest <= pin.version <= table.newest.commit.version
            return None if kept else f"version {pin.version} is gone"

    def rows(self, pin: DeltaPin) -> int | None:
        """Rows of the pinned version."""
        return pin.rows

    def files(self, pin: DeltaPin) -> tuple[tuple[str, int], ...]:
        """The files of the pinned version."""
        with self._lake.lock:
            files = self._lake.table(pin.location).versions[pin.version].files
            return tuple((name, ROW_BYTES * len(rows)) for name, rows in files.items())

    def history(self, applied: DeltaPin, newest: DeltaPin) -> InputHistory | None:
        """The commits between two versions; a feed is kept for a week unless the table's properties disable it."""
        with self._lake.lock:
            table = self._lake.table(newest.location)
            if applied.version + 1 < table.oldest:
                return None
            seen = table.versions[applied.version : newest.version + 1]
            return InputHistory(
                commits=tuple(self._between(newest.location, *both) for both in pairwise(seen)),
                change_sources=self._sources(newest.location, seen),
                reshaped=any(v.columns != seen[0].columns for v in seen),
                applied_at=self._commit(newest.location, seen[0].commit).at,
            )

    def _sources(self, location: str, seen: list[Version]) -> tuple[ChangeSourceInfo, ...]:
        changed_at = next((self._commit(location, v.commit).at for v in seen[1:] if v.commit.data_change), None)
        removed, added = changed_files(seen)
        kept = _FILES_KEPT if removed else _LOG_KEPT
        files = ChangeSourceInfo(
            source=ChangeSource.FILES,
            bytes=ROW_BYTES * sum(len(rows) for rows in (*removed.values(), *added.values())),
            expires_at=changed_at + kept if changed_at else None,
        )
        feed = ChangeSourceInfo(
            source=ChangeSource.FEED,
            bytes=sum(v.commit.bytes_added for v in seen[1:]),
            expires_at=changed_at + _FILES_KEPT if changed_at else None,
        )
        has_feed = all(v.properties.get("delta.enableChangeDataFeed", "true") == "true" for v in seen)
        return (feed, files) if has_feed else (files,)

    def changes(
        self, applied: DeltaPin, newest: DeltaPin, source: ChangeSource, folder: str, options: Mapping[str, str]
    ) -> ChangedRows:
        """The change data feed, or the changed files as tables of their own."""
        if source is ChangeSource.FEED:
            return newest.feed_since(applied, options)
        self._lake.step(f"create {folder}")
        with self._lake.lock:
            table = self._lake.table(newest.location)
            sides = changed_files(table.versions[applied.version : newest.version + 1])
            for name, files in zip(("removed", "added"), sides, strict=True):
                rows = (row for group in files.values() for row in group)
                self._lake.create(f"{folder}/{name}", table.newest.columns, rows)
        return SeparateRows(
            removed=delta_table(f"{folder}/removed", options), added=delta_table(f"{folder}/added", options)
        )

    def columns(self, pin: DeltaPin) -> dict[str, str]:
        """The columns of the pinned version."""
        with self._lake.lock:
            return {c.name: c.type for c in self._lake.table(pin.location).versions[pin.version].columns}

    def watch(self, input: Input) -> Callable[[], str]:
        """The newest version."""
        return lambda: str(self.pin("", input).version)

    def _between(self, location: str, before: Version, after: Version) -> InputCommit:
        adds_only = before.files.keys() <= after.files.keys()
        return self._commit(location, after.commit).model_copy(update={"adds_only": adds_only})

    def _commit(self, location: str, commit: Commit) -> InputCommit:
        return InputCommit(
            version=commit.version,
            at=self._lake.times.get((location, commit.version), BEGINNING),
            operation=commit.operation,
            data_change=commit.data_change,
        )


class MemoryFiles(FilesOfPin):
    """The fake of files of one format: those of the newest version of a table."""

    def __init__(self, lake: MemoryLake, format: str) -> None:
        self._lake = lake
        self._format = format

    def pin(self, name: str, input: Input) -> FilesPin:
        """The list of files. Raises Invalid when the table is missing."""
        table = _table(self._lake, name, input)
        with self._lake.lock:
            return FilesPin(format=self._format, location=input.path, files=self._stamps(table))

    def unreadable(self, pin: FilesPin) -> str | None:
        """The first pinned file that was changed or deleted."""
        with self._lake.lock:
            table = self._lake.tables.get(pin.location)
            if table is None:
                return f"{pin.location} is gone"
            there = set(self._stamps(table))
            return next((f"{f.path} is gone or has changed" for f in pin.files if f not in there), None)

    def rows(self, pin: FilesPin) -> int:
        """Rows of the pinned files."""
        return sum(f.size for f in pin.files) // ROW_BYTES

    def columns(self, pin: FilesPin) -> dict[str, str]:
        """The columns of the table."""
        with self._lake.lock:
            return {c.name: c.type for c in self._lake.table(pin.location).newest.columns}

    def watch(self, input: Input) -> Callable[[], str]:
        """The digest of the list of files."""
        return lambda: str(self.pin("", input).digest)

    def _stamps(self, table: MemoryTable) -> tuple[FileStamp, ...]:
        return tuple(self._stamp(table, file) for file in table.newest.files)

    def _stamp(self, table: MemoryTable, file: str) -> FileStamp:
        """A file; it is as old as the first version that has it."""
        first = next(v.commit for v in table.versions if file in v.files)
        at = self._lake.times.get((table.location, first.version), BEGINNING)
        size = ROW_BYTES * len(table.newest.files[file])
        return FileStamp(path=file, size=size, modified=round(at.timestamp() * 1_000_000))


def memory_inputs(lake: MemoryLake) -> InputKinds:
    """Every kind, over one lake."""
    return {"delta": MemoryTables(lake), "parquet": MemoryFiles(lake, "parquet")}


def _table(lake: MemoryLake, name: str, input: Input) -> MemoryTable:
    lake.step(f"read input {input.path}")
    with lake.lock:
        table = lake.tables.get(input.path)
    if table is None:
        raise Invalid(
            "input_missing",
            f"the input {name} is not a table in memory: {input.path}",
            next="Correct the path of the input, or create it.",
        )
    return table
