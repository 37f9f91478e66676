"""A watch that reports a refresh as lines of text, for logs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from airflow_refresh_provider.core.text.wording import sizes
from airflow_refresh_provider.ports.watch import Committed
from airflow_refresh_provider.views import formats

_SHORT_ID = 8
"""Characters of a run's id in a line; another line of the log has all of them."""


class Lines:
    """Reports each line once. Called from worker threads."""

    def __init__(self, say: Callable[[str], object]) -> None:
        self._say = say
        self._lock = threading.Lock()
        self._stage = ""
        self._began = time.monotonic()
        self._rows = 0
        self._done = 0
        self._total: int | None = None

    def stage(self, name: str, rows: int | None = None, chunks: int | None = None, *, part: str = "chunk") -> None:
        """A stage starts."""
        with self._lock:
            self._stage, self._total = name, chunks
            self._began, self._rows, self._done = time.monotonic(), 0, 0
        known = sizes(rows, chunks, part)
        self._say(f"{name}: {' in '.join(known)}" if known else name)

    def advance(self, rows: int, chunks: int = 1) -> None:
        """Parts are done: how many of how many."""
        with self._lock:
            self._done += chunks
            done = self._done
        self._say(f"{self._stage}: {done}{self._of}")

    def skip(self, rows: int, chunks: int) -> None:
        """Parts that were done before; their rows do not count for the rate."""
        with self._lock:
            self._done += chunks
        self._say(f"{self._stage}: {chunks}{self._of} chunks were already in the target")

    def committed(self, chunk: Committed) -> None:
        """A chunk was committed: its run, unit and number, the way it was applied, and the rate."""
        with self._lock:
            self._rows += chunk.rows
            speed = self._rows / max(0.001, time.monotonic() - self._began)
        self._say(
            f"run {chunk.run_id[:_SHORT_ID]}, unit {chunk.unit}: chunk {chunk.number} of {chunk.of} by {chunk.way}, "
            f"{chunk.rows:,} rows, {formats.rate(speed)}"
        )

    def note(self, message: str) -> None:
        """A line of its own."""
        self._say(message)

    @property
    def _of(self) -> str:
        return f" of {self._total}" if self._total else ""
