"""Time, processes and identity, as ports: the runner gets them from nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

from airflow_refresh_provider.core.run.owner import OriginStatus, Owner


class Clock(Protocol):
    """Time. `now` is aware UTC; waiting goes through `sleep` so that a fake can skip the time."""

    def now(self) -> datetime: ...

    def sleep(self, seconds: float) -> None: ...


class Processes(Protocol):
    """Who this process is, whether another one still exists, and fresh identifiers."""

    def this(self) -> Owner: ...

    def alive(self, owner: Owner) -> bool | None:
        """False when the process is known to be gone, None when that is not known here."""
        ...

    def origin_status(self, origin: str) -> OriginStatus:
        """What became of that which a run is made for."""
        ...

    def new_id(self) -> str:
        """A UUID, never given twice."""
        ...


class Heart(Protocol):
    """Signs of life while work is in progress, and a look at whether the run is still held."""

    def beating(
        self, name: str, run_id: str, unit: int | None, generation: int, interrupt: Callable[[], object]
    ) -> AbstractContextManager[None]:
        """Beat inside the block. `interrupt` is called, from another thread, again and again once the run, or the unit,
        has another generation: it was cancelled, taken over or dropped.
        """
        ...

    def waits(self, run_id: str, unit: int, until: datetime | None) -> None:
        """A unit of this process waits for its throttle, or no more; the next beats of it and of its run say it."""
        ...
