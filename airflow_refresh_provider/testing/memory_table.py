"""A Delta table in memory: versions, files, markers, and the rules by which two transactions conflict.

What a transaction may do is what Delta allows: it sees the version at which it began, a marker that the table has
already seen makes it do nothing, and at its commit it loses against a winner that changed the table's metadata, used
the same appId, touched rows it read, or removed a file that it removes, as OPTIMIZE does. Blind appends read nothing,
so they lose only for the first two reasons.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise
from typing import Any

from airflow_refresh_provider.core.definition.columns import VNODE, Columns
from airflow_refresh_provider.core.definition.own_columns import OwnColumn
from airflow_refresh_provider.core.log.commits import Commit
from airflow_refresh_provider.core.run.ownership import layout_properties
from airflow_refresh_provider.errors import Conflict
from airflow_refresh_provider.ports.tasks import Stamp

Row = dict[str, Any]
Rows = tuple[Row, ...]
Files = dict[str, Rows]

SETS_PROPERTIES = "SET TBLPROPERTIES"
"""The operation that sets properties and nothing else."""

ROW_BYTES = 100
"""What a row is taken to weigh where sizes are asked for."""


@dataclass(frozen=True)
class Version:
    """A table as one commit left it. Markers are kept by every later version, a restored one too."""

    commit: Commit
    files: Files
    columns: Columns
    properties: Mapping[str, str]
    markers: Mapping[str, int]

    @property
    def rows(self) -> Rows:
        """All rows, in order of their files."""
        return tuple(row for rows in self.files.values() for row in rows)


@dataclass(frozen=True)
class Change:
    """What a transaction wants to commit. `removed` are files that go away, `added` the rows of new ones.

    `reads` are the vnodes whose rows it depends on: None = every row, () = none, as a blind append. `maintains`: rows
    only move to other files. `next_version`: any other commit that comes first is a conflict.
    """

    operation: str
    added: Rows = ()
    removed: tuple[str, ...] = ()
    reads: tuple[int, ...] | None = ()
    columns: Columns | None = None
    properties: Mapping[str, str] | None = None
    maintains: bool = False
    next_version: bool = False


@dataclass
class MemoryTable:
    """One table: its identity and all its versions. `own` are columns with a rule of their own, for `facts`.

    `refused_from`: from then on versions that are not the newest cannot be read, None = never; a test sets it.
    """

    location: str
    table_id: str
    partitioned_by: tuple[str, ...] = ()
    clustered: bool = False
    own: tuple[OwnColumn, ...] = ()
    versions: list[Version] = field(default_factory=list)
    oldest: int = 0
    refused_from: datetime | None = None

    @property
    def newest(self) -> Version:
        """The table now."""
        return self.versions[-1]

    @property
    def by_vnode(self) -> bool:
        """Whether files belong to one vnode each."""
        return self.partitioned_by == (VNODE,)

    def commit(self, base: Version, change: Change, stamp: Stamp | None = None) -> Commit:
        """Commit a change decided at `base`. Raises Conflict when a winner since then forbids it."""
        for winner in self.versions[base.commit.version + 1 :]:
            if reason := _conflict(winner.commit, change, stamp):
                raise _lost(self.location, reason)
        if not set(change.removed) <= self.newest.files.keys():
            raise _lost(self.location, "files it removes were removed")
        version = len(self.versions)
        files = {name: rows for name, rows in self.newest.files.items() if name not in change.removed}
        fresh = self._files_of(change.added, version)
        gone = [rows for name, rows in self.newest.files.items() if name in change.removed]
        commit = Commit(
            version=version,
            operation=change.operation,
            txns={stamp.app_id: stamp.marker.version} if stamp else {},
            data_change=bool(fresh or gone) and not change.maintains,
            reshaped=_reshapes(self.newest, change),
            vnodes=_vnodes((*gone, *fresh.values())) if self.by_vnode else None,
            net_rows=len(change.added) - sum(len(rows) for rows in gone),
            bytes_added=ROW_BYTES * len(change.added),
            note=stamp.note.text() if stamp else None,
        )
        self._append(commit, {**files, **fresh}, change)
        return commit

    def restore(self, version: int) -> None:
        """Go back to the rows of an older version. Markers and metadata stay."""
        newest, wanted = self.newest, self.versions[version]
        touched = [rows for name, rows in newest.files.items() if name not in wanted.files]
        touched += [rows for name, rows in wanted.files.items() if name not in newest.files]
        commit = Commit(
            version=len(self.versions),
            operation="RESTORE",
            data_change=bool(touched),
            vnodes=_vnodes(touched) if self.by_vnode else None,
            net_rows=len(wanted.rows) - len(newest.rows),
        )
        self._append(commit, dict(wanted.files), Change("RESTORE"))

    def _append(self, commit: Commit, files: Files, change: Change) -> None:
        seen = self.versions[-1].markers if self.versions else {}
        columns = change.columns if change.columns is not None else self.newest.columns
        properties = change.properties if change.properties is not None else self.newest.properties
        self.versions.append(Version(commit, files, columns, properties, {**seen, **commit.txns}))

    def _files_of(self, rows: Rows, version: int) -> Files:
        if not self.by_vnode:
            return {f"{self.location}/part-{version}": rows} if rows else {}
        groups: dict[int, list[Row]] = {}
        for row in rows:
            groups.setdefault(row[VNODE], []).append(row)
        return {f"{self.location}/part-{version}-{vnode}": tuple(group) for vnode, group in groups.items()}


def created(table: MemoryTable, columns: Columns, properties: Mapping[str, str]) -> MemoryTable:
    """The table with its first, empty version."""
    commit = Commit(version=0, operation="CREATE TABLE", data_change=False, reshaped=True, net_rows=0)
    return replace(table, versions=[Version(commit, {}, columns, dict(properties), {})])


def changed_files(versions: Sequence[Version]) -> tuple[Files, Files]:
    """The files that went and those that came from the first of some versions to the last; tidying up counts not."""
    went: Files = {}
    came: Files = {}
    for before, after in pairwise(versions):
        if after.commit.data_change:
            for name in before.files.keys() - after.files.keys():
                if came.pop(name, None) is None:
                    went[name] = before.files[name]
            for name in after.files.keys() - before.files.keys():
                if went.pop(name, None) is None:
                    came[name] = after.files[name]
    return went, came


def _reshapes(before: Version, change: Change) -> bool:
    given = before.properties if change.properties is None else change.properties
    relaid = layout_properties(given) != layout_properties(before.properties)
    return relaid or (change.columns is not None and change.columns != before.columns)


def _conflict(winner: Commit, change: Change, stamp: Stamp | None) -> str | None:
    if change.next_version:
        return "another version was committed"
    if (
        winner.reshaped
        or winner.operation == SETS_PROPERTIES
        or change.columns is not None
        or change.properties is not None
    ):
        return "its metadata changed"
    if stamp and stamp.app_id in winner.txns:
        return f"{stamp.app_id} was committed"
    if not winner.data_change or change.reads == ():
        return None
    if change.reads is None or winner.vnodes is None or set(change.reads) & set(winner.vnodes):
        return "rows it read were changed"
    return None


def _lost(location: str, reason: str) -> Conflict:
    return Conflict(
        "commit_conflict",
        f"a commit to {location} lost against another writer: {reason}",
        left="Nothing of the commit is in the table.",
        next="Run again; the refresh goes on from its last commit.",
    )


def _vnodes(groups: Iterable[Rows]) -> tuple[int, ...]:
    return tuple(sorted({row[VNODE] for rows in groups for row in rows}))
