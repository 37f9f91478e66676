"""A lake in memory: tables by location.

Other writers use `create`, `append`, `rewrite`, `restore`, `optimize`, `reshape` and `remove`; the engine commits
transactions. `step` is called before every act that a crash can interrupt; by default it does nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime

from airflow_refresh_provider.core.definition.columns import Columns
from airflow_refresh_provider.core.log.commits import Commit
from airflow_refresh_provider.errors import Failed
from airflow_refresh_provider.ports.tasks import Stamp
from airflow_refresh_provider.testing.memory_table import (
    SETS_PROPERTIES,
    Change,
    MemoryTable,
    Row,
    Rows,
    Version,
    created,
)

BEGINNING = datetime(2024, 1, 1, tzinfo=UTC)
"""When everything in memory begins."""


class MemoryLake:
    """All tables of a pretended storage. Safe between threads; a test may set `step` to switch between actors.

    `times` are those of commits, by location and version, where they matter. `plain`: whether its tables are small
    ones by their features.
    """

    def __init__(self) -> None:
        self.plain = False
        self.times: dict[tuple[str, int], datetime] = {}
        self.tables: dict[str, MemoryTable] = {}
        self.step: Callable[[str], None] = lambda _what: None
        self.lock = threading.RLock()
        self._ids = 0

    # What others do to tables.

    def create(self, location: str, columns: Columns, rows: Iterable[Row] = (), **properties: str) -> MemoryTable:
        """A table that is not of our making, with its first rows."""
        with self.lock:
            table = self.add(location, columns, properties)
            if kept := tuple(rows):
                table.commit(table.newest, Change("WRITE", added=kept))
            return table

    def append(self, location: str, rows: Iterable[Row]) -> None:
        """Insert rows."""
        with self.lock:
            table = self.table(location)
            table.commit(table.newest, Change("WRITE", added=tuple(rows)))

    def rewrite(self, location: str, change: Callable[[Row], Row | None]) -> None:
        """Update every row by `change`, None deletes it; files in which nothing changes stay as they are."""
        with self.lock:
            table = self.table(location)
            removed: list[str] = []
            added: list[Row] = []
            for name, rows in table.newest.files.items():
                after = [new for row in rows if (new := change(dict(row))) is not None]
                if after != list(rows):
                    removed.append(name)
                    added += after
            table.commit(table.newest, Change("UPDATE", tuple(added), tuple(removed), reads=None))

    def restore(self, location: str, version: int) -> None:
        """Bring an older version back."""
        with self.lock:
            self.table(location).restore(version)

    def optimize(self, location: str) -> None:
        """Put all rows into one file, as OPTIMIZE does."""
        with self.lock:
            table = self.table(location)
            table.commit(table.newest, Change("OPTIMIZE", table.newest.rows, tuple(table.newest.files), maintains=True))

    def reshape(
        self, location: str, columns: Columns | None = None, properties: Mapping[str, str] | None = None
    ) -> None:
        """Change metadata."""
        with self.lock:
            table = self.table(location)
            table.commit(table.newest, Change(SETS_PROPERTIES, columns=columns, properties=properties))

    def remove(self, location: str) -> None:
        """Delete a table, or a whole folder of them."""
        with self.lock:
            for place in [p for p in self.tables if p == location or p.startswith(f"{location}/")]:
                del self.tables[place]

    def rows(self, location: str, version: int | None = None) -> Rows:
        """The rows of a table, now or at a version. Raises Failed when it has no such version."""
        with self.lock:
            table = self.table(location)
            if version is not None and version > table.newest.commit.version:
                raise _no_version(location, version)
            return table.versions[-1 if version is None else version].rows

    # What the engine needs.

    def add(
        self,
        location: str,
        columns: Columns,
        properties: Mapping[str, str],
        partitioned_by: tuple[str, ...] = (),
        clustered: bool = False,
    ) -> MemoryTable:
        """A new, empty table under a new identity."""
        self._ids += 1
        bare = MemoryTable(location, f"table-{self._ids}", partitioned_by, clustered)
        self.tables[location] = created(bare, columns, properties)
        return self.tables[location]

    def table(self, location: str) -> MemoryTable:
        """The table at a location. Raises Failed when there is none."""
        try:
            return self.tables[location]
        except KeyError:
            raise _missing(location) from None

    def transact(self, location: str, decide: Callable[[Version], Change], stamp: Stamp | None) -> Commit | None:
        """One transaction: what `decide` makes of the newest version. None when its marker has been seen.

        Beginning, committing and answering are steps of their own; anything may happen between them.
        """
        self.step(f"begin {location}")
        with self.lock:
            table = self.table(location)
            base = table.newest
            if stamp and base.markers.get(stamp.app_id, 0) >= stamp.marker.version:
                return None
            change = decide(base)
        self.step(f"commit {location}")
        with self.lock:
            if self.table(location) is not table:
                raise _missing(location)
            commit = table.commit(base, change, stamp)
        self.step(f"answer {location}")
        return commit


def _no_version(location: str, version: int) -> Failed:
    return Failed(
        "version_missing",
        f"the table at {location} has no version {version}",
        left="Nothing was changed.",
        next="Find out who has put it in the place of another.",
    )


def _missing(location: str) -> Failed:
    return Failed(
        "table_missing",
        f"there is no table at {location}",
        left="Nothing was changed.",
        next="Check the location.",
    )
