"""How long each stage of a refresh took in this attempt, in seconds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from airflow_refresh_provider.ports.world import Clock


class Stopwatch:
    """Started when made; stages may be entered one after the other."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._started = clock.now()
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
        """Seconds since the start."""
        return round((self._clock.now() - self._started).total_seconds(), 3)
