"""Watching an input: whether rows of it may have changed since the last look.

A look reads what is new in a log, or the list of a folder's files; none of them is opened.
"""

from __future__ import annotations

from airflow_refresh_provider.core.changes.pins import FilesPin
from airflow_refresh_provider.core.definition.inputs import Format, Input
from airflow_refresh_provider.core.log.commits import Commit
from airflow_refresh_provider.core.log.note import NoteKind, read_note
from airflow_refresh_provider.delta.storage.object_stores import storage
from airflow_refresh_provider.delta.tables.input_probe import DeltaInputProbe
from airflow_refresh_provider.delta.tables.parquet_files import list_files
from airflow_refresh_provider.delta.tables.target_log import DeltaTableLog
from airflow_refresh_provider.ports.table_log import LogGap


class Watched:
    """One input and what was seen of it. The first look sees a change, whatever there is."""

    def __init__(self, read: Input) -> None:
        self._read = read
        self._seen = -1
        self._changed = -1
        self._log = DeltaTableLog()

    def state(self) -> str:
        """A text that stays the same while no row changes. Raises errors.* when the input cannot be looked at."""
        if self._read.format is not Format.DELTA:
            return _files_state(self._read)
        newest = self._log.newest(self._read.path)
        if newest < self._seen or self._seen < 0:
            self._changed = newest  # first seen, or made anew
        elif newest > self._seen:
            self._changed = self._newest_change(newest)
        self._seen = newest
        return str(self._changed)

    def _newest_change(self, newest: int) -> int:
        """The newest version that changed rows."""
        try:
            commits = self._log.commits(self._read.path, after=self._seen, upto=newest)
        except LogGap:
            return newest
        return max((c.version for c in commits if c.data_change or _publishes(c)), default=self._changed)


def _publishes(commit: Commit) -> bool:
    """Whether it is a seal, which changes no row: what was committed before is to be seen from then on."""
    note = read_note(commit.note)
    return note is not None and note.kind is NoteKind.SEAL


def _files_state(read: Input) -> str:
    with storage("watching", read.path):
        found = list_files(read.path)
    # What is wrong with a place without files is said by a whole look.
    return str(
        (
            FilesPin(format="parquet", location=read.path, files=found) if found else DeltaInputProbe().pin("", read)
        ).digest
    )
