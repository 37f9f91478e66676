"""The newest row of each definition in the state table, followed through the log instead of read again.

A row is committed under its definition's appId, with its number as the version. So the small commit files that came
since the last look say whether a definition has a newer row; the table need not be opened for that. All is forgotten
where the log does not continue what was seen, as when the table was replaced or put back, or where much has come since.

Nothing is written from here: a write decides on a view of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.delta.storage.log_files import LogFiles
from airflow_refresh_provider.delta.storage.seen_commit import SeenCommit, seen_commit
from airflow_refresh_provider.ports.table_log import LogGap

_FOLLOWED = 64
"""Through more commits than this, opening the table is faster."""


@dataclass(frozen=True)
class StoredRow:
    """A row of the state table: its number, and its record as stored."""

    seq: int
    text: str

    @cached_property
    def record(self) -> Record:
        """The record. Raises ValidationError."""
        return Record.model_validate_json(self.text)


class NewestRows:
    """Of one state table, for all threads of this process."""

    def __init__(self, location: str) -> None:
        self._location = location
        self._lock = threading.Lock()
        self._first = 0
        self._last: SeenCommit | None = None
        self._newest: dict[str, int] = {}
        self._rows: dict[str, StoredRow] = {}
        self._all = False

    def of(self, app_id: str) -> StoredRow | None:
        """The newest row under an appId; None where the table has to be read for it."""
        with self._lock:
            self._follow()
            row = self._rows.get(app_id)
            return row if row is not None and self._newest.get(app_id) == row.seq else None

    def every(self) -> dict[str, StoredRow | None] | None:
        """The newest row under each appId, None for one that has to be read; None where the whole table has to be."""
        with self._lock:
            self._follow()
            if not self._all:
                return None
            return {
                app_id: row if (row := self._rows.get(app_id)) is not None and row.seq == seq else None
                for app_id, seq in self._newest.items()
            }

    def seen(self, version: int, rows: Mapping[str, StoredRow], *, every: bool = False) -> None:
        """These were the newest rows, by appId, in a version of the table that was opened; `every`: all of them."""
        with self._lock:
            self._follow()
            if self._last is None:
                self._begin(version)
            if self._last is None or version < self._first:
                return
            for app_id, row in rows.items():
                if self._newest.setdefault(app_id, row.seq) == row.seq:
                    self._rows[app_id] = row
            self._all = self._all or every

    def written(self, app_id: str, row: StoredRow) -> None:
        """This process has written a row. It counts once the log is seen to have it."""
        with self._lock:
            self._rows[app_id] = row

    def _begin(self, version: int) -> None:
        self._last = seen_commit(self._location, version)
        self._first = version

    def _follow(self) -> None:
        """Read what was committed since the last look, or forget what was seen."""
        if self._last is None:
            return
        version = self._last.version
        log = self._last.log_since(self._location)
        if log is None or log.newest > version + _FOLLOWED:
            self._forget()
        else:
            self._read(log, version + 1)

    def _read(self, log: LogFiles, first: int) -> None:
        try:
            for version in range(first, log.newest + 1):
                self._newest |= log.transactions(version)
        except LogGap:
            self._forget()
        else:
            self._last = SeenCommit(log.newest, log.commits[log.newest])

    def _forget(self) -> None:
        self._last = None
        self._all = False
        self._newest.clear()
        self._rows.clear()
