"""How long each stage of a refresh took in this attempt, in seconds, and how long the refresh did."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from airflow_refresh_provider.ports.world import Clock


class Stopwatch:
    """Started when made, or `since` then; stages may be entered one after the other."""

    def __init__(self, clock: Clock, since: datetime | None = None) -> None:
        self._clock = clock
        self._started = since or clock.now()
        self.stages: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Adds the time spent inside to the stage, also when it fails."""
        began = self._clock.now()
        try:
            yield
        finally:
            spent = (self._clock.now() - began).total_seconds()
            self.stages[name] = round(self.stages.get(name, 0.0) + spent, 3)

    def total(self) -> float:
        """Seconds since the start, as far as clocks agree where another machine has made it."""
        return round(max(0.0, (self._clock.now() - self._started).total_seconds()), 3)
