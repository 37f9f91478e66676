"""A control table that stays open for readers while nothing is committed to it: to open it takes as long as a read.

Nothing is written through it.
"""

from __future__ import annotations

from deltalake import DeltaTable

from airflow_refresh_provider.delta.control.control_table import ControlTable
from airflow_refresh_provider.delta.storage.seen_commit import SeenCommit, seen_commit


class NewestView:
    """Of one table, for all threads of this process."""

    def __init__(self, table: ControlTable) -> None:
        self._table = table
        self._opened: tuple[DeltaTable, SeenCommit] | None = None

    def get(self) -> DeltaTable | None:
        """The table at its newest version, None when nothing was ever written."""
        opened = self._opened
        if opened is not None and opened[1].is_newest(self._table.location):
            return opened[0]
        view = self._table.open()
        seen = seen_commit(self._table.location, view.version()) if view is not None else None
        self._opened = (view, seen) if view is not None and seen is not None else None
        return view
