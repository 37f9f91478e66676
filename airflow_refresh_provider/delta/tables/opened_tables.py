"""Tables that stay open for all questions of a view or of a refresh, or are opened for each question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from deltalake import DeltaTable

from airflow_refresh_provider.delta.storage.seen_commit import SeenCommit, newest_commit
from airflow_refresh_provider.delta.tables.delta_table import open_table
from airflow_refresh_provider.ports.table_log import Opened


@dataclass(frozen=True)
class _Newest:
    """A table at its newest version, and the commit by which it was that; None where this is not looked at again."""

    table: DeltaTable | None
    seen: SeenCommit | None = None


@dataclass(frozen=True)
class OpenedTables:
    """Tables as `open` opens them. Those that are in `kept` are not opened again; without it none is kept."""

    open: Callable[[str, int | None], DeltaTable | None] = open_table
    kept: Opened | None = None

    def keeping(self, opened: Opened) -> OpenedTables:
        """Tables that stay open."""
        return replace(self, kept=opened)

    def at(self, location: str, version: int | None = None) -> DeltaTable | None:
        """A table at a version (None = newest); None when there is no table."""
        if self.kept is None:
            return self.open(location, version)
        return self._newest(location, self.kept) if version is None else self._version(location, version, self.kept)

    def has(self, location: str) -> bool:
        """Whether the newest version of a table is open, and no newer one is looked for."""
        found = None if self.kept is None or self.kept.followed else self.kept.newest.get(location)
        return found is not None and found.table is not None

    def _newest(self, location: str, kept: Opened) -> DeltaTable | None:
        known: _Newest | None = kept.newest.get(location)
        if known is not None and not kept.followed:
            return known.table
        log = known.seen.log_since(location) if known and known.seen else None
        if known and known.seen and log and log.newest == known.seen.version:
            return known.table
        if log is None:
            _forget(location, kept)
        found = kept.newest[location] = self._opened(location, followed=kept.followed)
        return found.table

    def _opened(self, location: str, *, followed: bool) -> _Newest:
        # Seen before it is opened: a table that takes its place in between is another one when it is looked at again.
        seen = newest_commit(location) if followed else None
        table = self.open(location, None)
        return _Newest(table, seen if table is not None and seen and seen.version == table.version() else None)

    def _version(self, location: str, version: int, kept: Opened) -> DeltaTable | None:
        key = location, version
        if key in kept.versions:
            known: DeltaTable | None = kept.versions.get(key)  # None where another took its place in this moment
            return known
        newest: _Newest | None = kept.newest.get(location)
        there = newest is not None and newest.table is not None and newest.table.version() == version
        found = newest.table if newest is not None and there else self.open(location, version)
        kept.versions[key] = found
        return found


def _forget(location: str, kept: Opened) -> None:
    """The log does not go on from what is known: another table is there, or this one was put back to a backup."""
    for place, version in list(kept.versions):  # a copy: units are merged side by side
        if place == location:
            kept.versions.pop((place, version), None)


EACH_TIME = OpenedTables()
"""Tables that are opened for each question."""
