"""The watch of a task: what a person wants to read in its log, and what monitors count."""

from __future__ import annotations

import threading
import time
from typing import Any, Protocol

from airflow_refresh_provider.operators import metrics


class Log(Protocol):
    """What a task logs to, whether Airflow's own or one of the standard library."""

    def info(self, event: str, *args: Any) -> Any: ...


class TaskLog:
    """Lines in a task's log, and metrics of a definition. Called from the threads that do the work."""

    def __init__(self, log: Log, definition: str) -> None:
        self._log = log
        self._definition = definition
        self._lock = threading.Lock()
        self._stage = ""
        self._began = time.monotonic()
        self._rows = 0
        self._chunks = 0
        self._total: tuple[int | None, int | None] = (None, None)

    def stage(self, name: str, rows: int | None = None, chunks: int | None = None) -> None:
        """A stage begins."""
        with self._lock:
            self._stage, self._total = name, (rows, chunks)
            self._began, self._rows, self._chunks = time.monotonic(), 0, 0
        sizes = [f"{n:,} {what}" for n, what in ((rows, "rows"), (chunks, "chunks")) if n]
        self._log.info("%s%s", name, f": {' in '.join(sizes)}" if sizes else "")

    def advance(self, rows: int, chunks: int = 1) -> None:
        """Chunks were committed: which of how many, and how fast."""
        with self._lock:
            self._rows += rows
            self._chunks += chunks
            done, all_rows, seconds = self._chunks, self._rows, max(0.001, time.monotonic() - self._began)
        metrics.committed(self._definition, self._stage, rows, chunks)
        of = f" of {self._total[1]}" if self._total[1] else ""
        self._log.info(
            "%s: chunk %s%s, %s rows, %s rows/s", self._stage, done, of, f"{all_rows:,}", f"{all_rows / seconds:,.0f}"
        )

    def note(self, message: str) -> None:
        """Something worth a line."""
        self._log.info("%s", message)
