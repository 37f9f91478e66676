"""What is read of a lake in memory without Spark: logs of tables, states of inputs, folders of staging."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

from airflow_refresh_provider.core.changes.history import InputCommit, InputHistory, of_files
from airflow_refresh_provider.core.changes.pins import DeltaPin, FilesPin, FileStamp, Pin
from airflow_refresh_provider.core.changes.sources import (
    ChangedRows,
    ChangeSource,
    ChangeSourceInfo,
    FeedRows,
    FileTables,
    NewFiles,
)
from airflow_refresh_provider.core.definition.columns import OP, VNODE, padded
from airflow_refresh_provider.core.definition.inputs import Format, Input
from airflow_refresh_provider.core.log.commits import Commit
from airflow_refresh_provider.core.plan.plan import StagedTable
from airflow_refresh_provider.errors import Invalid
from airflow_refresh_provider.ports.table_log import LogGap, TableFacts
from airflow_refresh_provider.testing.memory_lake import BEGINNING, MemoryLake
from airflow_refresh_provider.testing.memory_table import ROW_BYTES, MemoryTable, changed_files

_KEPT_FOR = timedelta(days=7)
_LOG_KEPT_FOR = timedelta(days=30)


class MemoryLog:
    """The twin of `TableLog`."""

    def __init__(self, lake: MemoryLake) -> None:
        self._lake = lake

    def table_id(self, location: str) -> str | None:
        """Which table it is."""
        facts = self.facts(location)
        return facts.table_id if facts else None

    def facts(self, location: str) -> TableFacts | None:
        """The table at its newest version."""
        self._lake.step(f"read facts {location}")
        with self._lake.lock:
            table = self._lake.tables.get(location)
            if table is None:
                return None
            newest = table.newest
            return TableFacts(
                location=location,
                table_id=table.table_id,
                version=newest.commit.version,
                properties=dict(newest.properties),
                partitioned_by=table.partitioned_by,
                clustered=table.clustered,
                columns=tuple(c.name for c in newest.columns),
                padded=tuple(c.name for c in newest.columns if padded(c.type)),
                rows=len(newest.rows),
                bytes=ROW_BYTES * len(newest.rows),
            )

    def newest(self, location: str) -> int:
        """The newest version."""
        self._lake.step(f"read newest {location}")
        with self._lake.lock:
            return self._lake.table(location).newest.commit.version

    def oldest(self, location: str) -> int:
        """The oldest version whose commit is still kept; a test cleans out by setting `MemoryTable.oldest`."""
        with self._lake.lock:
            return self._lake.table(location).oldest

    def markers(self, location: str) -> dict[str, int]:
        """appId -> newest txnVersion."""
        self._lake.step(f"read markers {location}")
        with self._lake.lock:
            return dict(self._lake.table(location).newest.markers)

    def commits(self, location: str, after: int, upto: int | None = None) -> tuple[Commit, ...]:
        """The commits of (after, upto]. Raises LogGap when some of them were cleaned out."""
        self._lake.step(f"read commits {location}")
        with self._lake.lock:
            table = self._lake.table(location)
            if after + 1 < table.oldest:
                raise LogGap(location)
            last = table.newest.commit.version if upto is None else upto
            return tuple(v.commit for v in table.versions[after + 1 : last + 1])


class MemoryProbe:
    """The twin of `InputProbe`: every input is a table of the lake, or the list of its files."""

    def __init__(self, lake: MemoryLake) -> None:
        self._lake = lake

    def pin(self, name: str, input: Input) -> Pin:
        """The table at its newest version, or the list of its files. Raises Invalid when it is missing."""
        self._lake.step(f"read input {input.path}")
        with self._lake.lock:
            table = self._lake.tables.get(input.path)
            if table is None:
                raise Invalid(
                    "input_missing",
                    f"the input {name} is not a table in memory: {input.path}",
                    next="Correct the path of the input, or create it.",
                )
            newest = table.newest
            if input.format is Format.PARQUET:
                return FilesPin(
                    format="parquet",
                    location=input.path,
                    files=tuple(self._stamp(table, name) for name in newest.files),
                )
            return DeltaPin(
                location=input.path,
                table_id=table.table_id,
                version=newest.commit.version,
                rows=len(newest.rows),
                bytes=ROW_BYTES * len(newest.rows),
            )

    def unreadable(self, pin: Pin) -> str | None:
        """Why the pinned version cannot be read any more."""
        with self._lake.lock:
            table = self._lake.tables.get(pin.location)
            if table is None:
                return f"{pin.location} is gone"
            if isinstance(pin, FilesPin):
                there = {self._stamp(table, name) for name in table.newest.files}
                return next((f"{f.path} is gone or has changed" for f in pin.files if f not in there), None)
            if table.table_id != pin.table_id:
                return f"{pin.location} is another table now"
            kept = table.oldest <= pin.version <= table.newest.commit.version
            return None if kept else f"version {pin.version} is gone"

    def history(self, applied: Pin, newest: Pin) -> InputHistory | None:
        """The commits between two versions; a feed is kept for a week unless the table's properties say none is."""
        if isinstance(applied, FilesPin) and isinstance(newest, FilesPin):
            return of_files(applied, newest)
        assert isinstance(applied, DeltaPin) and isinstance(newest, DeltaPin)
        with self._lake.lock:
            table = self._lake.table(newest.location)
            if applied.version + 1 < table.oldest:
                return None
            seen = table.versions[applied.version : newest.version + 1]
            commits = tuple(self._input_commit(newest.location, v.commit) for v in seen[1:])
            begun = next((c.at for c in commits if c.data_change), None)
            feed = ChangeSourceInfo(
                source=ChangeSource.FEED,
                bytes=sum(v.commit.bytes_added for v in seen[1:]),
                expires_at=begun + _KEPT_FOR if begun else None,
            )
            kept = all(v.properties.get("delta.enableChangeDataFeed", "true") == "true" for v in seen)
            went, came = changed_files(seen)
            size = ROW_BYTES * sum(len(rows) for rows in (*went.values(), *came.values()))
            kept_for = _KEPT_FOR if went else _LOG_KEPT_FOR
            files = ChangeSourceInfo(
                source=ChangeSource.FILES, bytes=size, expires_at=begun + kept_for if begun else None
            )
            return InputHistory(
                commits=commits,
                change_sources=(feed, files) if kept else (files,),
                reshaped=any(v.columns != seen[0].columns for v in seen),
                applied_at=self._input_commit(newest.location, seen[0].commit).at,
            )

    def changes(self, applied: Pin, newest: Pin, source: ChangeSource, folder: str) -> ChangedRows:
        """What is read of the changes in between."""
        if isinstance(applied, FilesPin) and isinstance(newest, FilesPin):
            return NewFiles(files=tuple(f.path for f in newest.new_files(applied)), before=applied)
        assert isinstance(applied, DeltaPin) and isinstance(newest, DeltaPin)
        if source is ChangeSource.FEED:
            return FeedRows(first=applied.version + 1, upto=newest.version)
        self._lake.step(f"create {folder}")
        with self._lake.lock:
            table = self._lake.table(newest.location)
            went, came = changed_files(table.versions[applied.version : newest.version + 1])
        for name, files in (("went", went), ("came", came)):
            rows = (row for group in files.values() for row in group)
            self._lake.create(f"{folder}/{name}", table.newest.columns, rows)
        return FileTables(went=f"{folder}/went", came=f"{folder}/came")

    def files(self, pin: Pin) -> tuple[tuple[str, int], ...] | None:
        """The files of the pinned version."""
        if isinstance(pin, FilesPin):
            return tuple((f.path, f.size) for f in pin.files)
        with self._lake.lock:
            files = self._lake.table(pin.location).versions[pin.version].files
            return tuple((name, ROW_BYTES * len(rows)) for name, rows in files.items())

    def rows(self, pin: Pin) -> int | None:
        """Rows of the pinned version."""
        return sum(f.size for f in pin.files) // ROW_BYTES if isinstance(pin, FilesPin) else pin.rows

    def _stamp(self, table: MemoryTable, file: str) -> FileStamp:
        """A file; it is as old as the first version that has it."""
        first = next(v.commit for v in table.versions if file in v.files)
        at = self._lake.times.get((table.location, first.version), BEGINNING)
        size = ROW_BYTES * len(table.newest.files[file])
        return FileStamp(path=file, size=size, modified=round(at.timestamp() * 1_000_000))

    def _input_commit(self, location: str, commit: Commit) -> InputCommit:
        return InputCommit(
            version=commit.version,
            at=self._lake.times.get((location, commit.version), BEGINNING),
            operation=commit.operation,
            data_change=commit.data_change,
        )


class MemoryStaging:
    """The twin of `Staging`: folders are prefixes of locations."""

    def __init__(self, lake: MemoryLake) -> None:
        self._lake = lake

    def drop(self, location: str) -> None:
        """Remove everything below a location."""
        self._lake.step(f"drop {location}")
        self._lake.remove(location)

    def changes(self, staged: StagedTable) -> dict[tuple[int, str], int]:
        """Rows by vnode and op."""
        with self._lake.lock:
            return dict(Counter((r[VNODE], r[OP]) for r in self._lake.rows(staged.location, staged.version)))

    def files(self, staged: StagedTable) -> tuple[str, ...] | None:
        """A lake in memory has no files."""
        return None

    def span(self, staged: StagedTable, column: str) -> tuple[int, int] | None:
        """Smallest and largest value."""
        with self._lake.lock:
            values = [r[column] for r in self._lake.rows(staged.location, staged.version)]
        return (min(values), max(values)) if values else None

    def runs(self, root: str) -> tuple[str, ...]:
        """The folders directly below a root."""
        self._lake.step(f"read folders {root}")
        with self._lake.lock:
            below = (place.removeprefix(f"{root}/") for place in self._lake.tables if place.startswith(f"{root}/"))
            return tuple(sorted({f"{root}/{rest.partition('/')[0]}" for rest in below}))
