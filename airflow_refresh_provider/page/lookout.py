"""What was last seen of inputs and targets, looked at again in the background while a page is open.

A look reads the log of a target and those of its inputs. A page of a thousand definitions does not wait for that: it
has what was seen before, from which it follows at any later moment how late a target is.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta

from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.ports.world import Clock
from airflow_refresh_provider.runner.report.observation import Observation

_WORKERS = 2
_KEPT_AT_LEAST = timedelta(seconds=20)
_KEPT_FOR_EACH = timedelta(seconds=0.1)
"""Ten looks in a second are as many as a web server has time for beside its requests; the first are made at once."""


def in_background(work: Callable[[], None]) -> None:
    """Work in a thread that ends with the process."""
    threading.Thread(target=work, name="lookout", daemon=True).start()


class Lookout:
    """The newest look at each definition. `start` begins to work; `patience`: seconds to wait for a first look."""

    def __init__(
        self,
        look: Callable[[Record], Observation],
        clock: Clock,
        start: Callable[[Callable[[], None]], None] = in_background,
        patience: float = 0.2,
    ) -> None:
        self._look = look
        self._clock = clock
        self._start = start
        self._patience = patience
        self._lock = threading.Lock()
        self._found: dict[str, Observation] = {}
        self._waiting: deque[Record] = deque()
        self._working = 0
        self._done = threading.Event()

    def seen(self, records: Sequence[Record]) -> Mapping[str, Observation]:
        """What was seen, by name. Looks that are due are started; it waits a moment for the first of a definition."""
        published = [record for record in records if record.published]
        with self._lock:
            due = [record for record in published if self._is_due(record, len(published))]
            unseen = [record for record in due if record.name not in self._found]
            self._waiting = deque([*unseen, *(record for record in due if record.name in self._found)])
            starting = max(0, min(_WORKERS, len(due)) - self._working)
            self._working += starting
            if starting:
                self._done.clear()
        for _ in range(starting):
            self._start(self._work)
        if unseen:
            self._done.wait(self._patience)
        return self.known()

    def known(self) -> Mapping[str, Observation]:
        """What was seen, by name, without a new look."""
        with self._lock:
            return dict(self._found)

    def _is_due(self, record: Record, count: int) -> bool:
        seen = self._found.get(record.name)
        kept = max(_KEPT_AT_LEAST, count * _KEPT_FOR_EACH)
        return seen is None or not seen.still_of(record) or self._clock.now() - seen.now >= kept

    def _work(self) -> None:
        try:
            while (record := self._next()) is not None:
                seen = self._look(record)
                with self._lock:
                    self._found[record.name] = seen
        finally:
            with self._lock:
                self._working -= 1
                if not self._working:
                    self._done.set()

    def _next(self) -> Record | None:
        with self._lock:
            return self._waiting.popleft() if self._waiting else None
