"""What this process spends on a run. It is stored with writes that are made anyway, each part once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from airflow_refresh_provider.core.run.spent import Spent
from airflow_refresh_provider.ports.engine import EngineSession
from airflow_refresh_provider.ports.world import Clock


class Meter:
    """Started when made. Safe between threads.

    `chunks`: generation -> what was stored with the progress of its chunks, and not with the run.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since = clock.now()
        self._idle_since: datetime | None = None
        self._idle_seconds = 0.0
        self._sessions: list[EngineSession] = []
        self._added = Spent()
        self._stored = Spent()
        self._lock = threading.Lock()
        self.chunks: dict[int, Spent] = {}

    def follow(self, session: EngineSession) -> None:
        """Count the time of a session's operations, also of those before."""
        if session not in self._sessions:
            self._sessions.append(session)

    @contextmanager
    def idle(self) -> Iterator[None]:
        """The time inside is not counted: others measure theirs."""
        began = self._idle_since = self._clock.now()
        try:
            yield
        finally:
            self._idle_seconds += (self._clock.now() - began).total_seconds()
            self._idle_since = None

    def add_rest_of(self, other: Meter) -> None:
        """Count what another meter has not stored, and remember what it has stored with chunks."""
        rest = other.unstored()
        with self._lock:
            self._added += rest
            self.chunks |= other.chunks

    def unstored(self) -> Spent:
        """What was spent since it was last stored."""
        with self._lock:
            return self._unstored()

    @contextmanager
    def storing(self) -> Iterator[Spent]:
        """What was spent since it was last stored. After the block it is stored, unless that raises."""
        with self._lock:
            spent = self._unstored()
            self._stored += spent
        stored = False
        try:
            yield spent
            stored = True
        finally:
            if not stored:
                with self._lock:
                    self._stored = self._stored.without(spent)

    def stored_with_chunk(self, generation: int, spent: Spent) -> None:
        """This was stored with the progress of a chunk."""
        with self._lock:
            self.chunks[generation] = self.chunks.get(generation, Spent()) + spent

    def _unstored(self) -> Spent:
        until = self._idle_since or self._clock.now()
        worked = (until - self._since).total_seconds() - self._idle_seconds
        in_spark = sum(session.seconds() for session in self._sessions)
        return (Spent(worked_seconds=worked, spark_seconds=in_spark) + self._added).without(self._stored)
