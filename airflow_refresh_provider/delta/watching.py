"""Watching an input: whether rows of it may have changed since the last look. A look reads no more than what is new."""

from __future__ import annotations

from airflow_refresh_provider.core.inputs import Format, Input
from airflow_refresh_provider.delta.inputs import DeltaInputProbe
from airflow_refresh_provider.delta.log import DeltaTableLog
from airflow_refresh_provider.ports.log import LogGap


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
            return str(DeltaInputProbe().pin("", self._read).digest)
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
        return max((c.version for c in commits if c.data_change), default=self._changed)
