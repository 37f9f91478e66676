"""Which units of this process wait for their throttle, for the beats that say it."""

from __future__ import annotations

import threading
from datetime import datetime


class Waits:
    """Until when units wait, by run and unit. Written by the threads of units, read by those that beat."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until: dict[tuple[str, int], datetime] = {}

    def put(self, run_id: str, unit: int, until: datetime | None) -> None:
        """A unit waits, or does so no more."""
        with self._lock:
            self._until.pop((run_id, unit), None)
            if until is not None:
                self._until[run_id, unit] = until

    def of(self, run_id: str, unit: int | None) -> dict[int, datetime] | None:
        """The waits of a unit, or of all units of a run; None where there are none."""
        with self._lock:
            found = {at: until for (run, at), until in self._until.items() if run == run_id and unit in (None, at)}
        return found or None
