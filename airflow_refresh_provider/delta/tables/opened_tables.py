"""Tables that are opened once for all questions of one view, or for each question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from deltalake import DeltaTable

from airflow_refresh_provider.delta.tables.delta_table import open_table
from airflow_refresh_provider.ports.table_log import Opened


@dataclass(frozen=True)
class OpenedTables:
    """Tables as `open` opens them. Those that are in `kept` are not opened again; without it none is kept."""

    open: Callable[[str, int | None], DeltaTable | None] = open_table
    kept: Opened | None = None

    def keeping(self, opened: Opened) -> OpenedTables:
        """The tables as they are at one moment."""
        return replace(self, kept=opened)

    def at(self, location: str, version: int | None = None) -> DeltaTable | None:
        """A table at a version (None = newest); None when there is no table."""
        if self.kept is None:
            return self.open(location, version)
        if (location, version) not in self.kept:
            table = self.open(location, version)
            self.kept[location, version] = table
            if table is not None:
                self.kept.setdefault((location, table.version()), table)
        found: DeltaTable | None = self.kept[location, version]
        return found

    def has(self, location: str) -> bool:
        """Whether the newest version of a table is open."""
        return self.kept is not None and self.kept.get((location, None)) is not None


EACH_TIME = OpenedTables()
"""Tables that are opened for each question."""
