"""A watch that tells a refresh as lines of text, for logs that a person reads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Lines:
    """Says each line once. Called from the threads that do the work."""

    def __init__(self, say: Callable[[str], object]) -> None:
        self._say = say
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
        self._say(f"{name}: {' in '.join(sizes)}" if sizes else name)

    def advance(self, rows: int, chunks: int = 1) -> None:
        """Chunks were committed: which of how many, and how fast."""
        with self._lock:
            self._rows += rows
            self._chunks += chunks
            done, all_rows, seconds = self._chunks, self._rows, max(0.001, time.monotonic() - self._began)
        of = f" of {self._total[1]}" if self._total[1] else ""
        self._say(f"{self._stage}: chunk {done}{of}, {all_rows:,} rows, {all_rows / seconds:,.0f} rows/s")

    def note(self, message: str) -> None:
        """Something worth a line."""
        self._say(message)
