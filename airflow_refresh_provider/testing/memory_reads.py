"""Reading a lake in memory without Spark: logs of tables and folders of staged data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Self

from airflow_refresh_provider.core.changes.reads import Read
from airflow_refresh_provider.core.definition.columns import OP, VNODE, floating_columns, padded
from airflow_refresh_provider.core.log.commits import Commit
from airflow_refresh_provider.core.plan.plan import StagedTable
from airflow_refresh_provider.core.run.reading import DELETION_VECTORS
from airflow_refresh_provider.ports.table_log import (
    OPEN_COST,
    LogGap,
    Opened,
    SpansOf,
    TableFacts,
    TableIdentity,
)
from airflow_refresh_provider.testing.memory_lake import MemoryLake
from airflow_refresh_provider.testing.memory_table import ROW_BYTES, Rows


class MemoryLog:
    """The fake of `TableLog`."""

    def __init__(self, lake: MemoryLake) -> None:
        self._lake = lake

    def keeping(self, opened: Opened) -> Self:
        """The same: to open a table costs nothing here."""
        return self

    def identity(self, location: str) -> TableIdentity | None:
        """Which table it is."""
        return self.facts(location)

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
                partitions=_partitions(newest.rows, table.partitioned_by),
                clustered=table.clustered,
                columns=tuple(c.name for c in newest.columns),
                types=newest.columns,
                floating=floating_columns(newest.columns),
                padded=tuple(c.name for c in newest.columns if padded(c.type)),
                reader_features=frozenset({DELETION_VECTORS} if _has_vectors(newest.properties) else ()),
                own=table.own,
                plain=self._lake.plain,
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

    def sizes_within(
        self, location: str, version: int, column: str, spans: Sequence[tuple[int, int]]
    ) -> tuple[int, int]:
        """A table is one file, without statistics."""
        facts = self.facts(location)
        size = OPEN_COST + (facts.bytes or 0 if facts else 0)
        return size, size

    def files_within(self, location: str, version: int, ways: Sequence[SpansOf]) -> Read | None:
        """A table is one file, and is read as a table."""
        return None

    def few_files(self, location: str, version: int, *, deleted: bool) -> Read | None:
        """A table is read as a table."""
        return None

    def readable_until(self, location: str, version: int) -> datetime | None:
        """As `MemoryTable.refused_from` says; the year 9999 where that says never."""
        if version == self.newest(location):
            return None
        with self._lake.lock:
            return self._lake.table(location).refused_from or datetime.max.replace(tzinfo=UTC)

    def markers(self, location: str) -> dict[str, int]:
        """appId -> newest txnVersion."""
        self._lake.step(f"read markers {location}")
        with self._lake.lock:
            return dict(self._lake.table(location).newest.markers)

    def commits(self, location: str, after: int, upto: int | None = None) -> tuple[Commit, ...]:
        """The commits of (after, upto]. Raises LogGap when some of them were cleaned up."""
        self._lake.step(f"read commits {location}")
        with self._lake.lock:
            table = self._lake.table(location)
            if after + 1 < table.oldest:
                raise LogGap(location)
            last = table.newest.commit.version if upto is None else upto
            return tuple(v.commit for v in table.versions[after + 1 : last + 1])


class MemoryFolders:
    """Folders of tables. Nothing else lies in the folder of a table. `links`: where a location leads."""

    def __init__(self, lake: MemoryLake) -> None:
        self._lake = lake
        self.links: dict[str, str] = {}

    def resolved(self, location: str) -> str:
        """The location, or where it leads."""
        return self.links.get(location, location)

    def delete_table(self, location: str) -> tuple[str, ...]:
        """Delete a table, and return those that lie inside it, which are left."""
        self._lake.step(f"drop {location}")
        with self._lake.lock:
            self._lake.tables.pop(location, None)
            return tuple(sorted(place for place in self._lake.tables if place.startswith(f"{location}/")))


class MemoryStaging:
    """The fake of `Staging`: folders are prefixes of locations."""

    def __init__(self, lake: MemoryLake) -> None:
        self._lake = lake

    def drop(self, location: str) -> None:
        """Remove everything below a location."""
        self._lake.step(f"drop {location}")
        self._lake.remove(location)

    def has(self, staged: StagedTable) -> bool:
        """Whether there is such a table."""
        with self._lake.lock:
            return staged.location in self._lake.tables

    def changes(self, staged: StagedTable) -> dict[tuple[int, str], int]:
        """Rows by vnode and op."""
        with self._lake.lock:
            return dict(Counter((r[VNODE], r[OP]) for r in self._lake.rows(staged.location, staged.version)))

    def files(self, staged: StagedTable) -> tuple[str, ...] | None:
        """A lake in memory has no files."""
        return None

    def rows(self, folder: str) -> int:
        """Rows of a table; none of one that is not there."""
        self._lake.step(f"read {folder}")
        with self._lake.lock:
            return len(self._lake.rows(folder)) if folder in self._lake.tables else 0

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


def _partitions(rows: Rows, partitioned_by: tuple[str, ...]) -> int:
    return len({tuple(row[name] for name in partitioned_by) for row in rows}) if partitioned_by else 0


def _has_vectors(properties: Mapping[str, str]) -> bool:
    return properties.get("delta.enableDeletionVectors") == "true"
