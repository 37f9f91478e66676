"""Interruptions at a named step: a process that dies there, or a statement that fails there."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

from airflow_refresh_provider.core.run.lifecycle import Event
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.errors import Failed, Retry
from airflow_refresh_provider.ports.control import Snapshot
from airflow_refresh_provider.testing.memory_control import MemoryControlStore
from airflow_refresh_provider.testing.memory_lake import MemoryLake

POINTS = [
    "open session",
    "create memory://staging",
    "begin memory://staging",
    "commit memory://staging",
    "answer memory://staging",
    "begin /gold",
    "commit /gold",
    "answer /gold",
    "drop memory://staging",
]
"""Steps at which a refresh on the in-memory lake may be interrupted."""


class SteppingStore(MemoryControlStore):
    """Takes a step before each transition is stored, and one after it."""

    def __init__(self, lake: MemoryLake) -> None:
        super().__init__()
        self._lake = lake

    def commit(self, snapshot: Snapshot, record: Record, event: Event, at: datetime) -> Snapshot:
        self._lake.step(f"store {event.value}")
        after = super().commit(snapshot, record, event, at)
        self._lake.step(f"stored {event.value}")
        return after


class Killed(BaseException):
    """The end of a process: nothing in the runner handles it."""


def killed() -> BaseException:
    return Killed()


def disconnected() -> BaseException:
    return Retry("connection_lost", "the connection to Spark broke", left="Not known.", next="Run again.")


def not_accepted() -> BaseException:
    return Failed("constraint_violated", "the target does not accept a row", left="Not known.", next="Correct it.")


def full_disk() -> BaseException:
    return Failed("disk_full", "there is no space left", left="Nothing of it was staged.", next="Free some.")


@contextmanager
def at(lake: MemoryLake, what: str, error: Callable[[], BaseException] = killed, nth: int = 1) -> Iterator[list[str]]:
    """Raise when a step begins with these words for the n-th time. Yields all steps."""
    steps: list[str] = []
    lock = threading.Lock()

    def step(name: str) -> None:
        with lock:  # units take steps in parallel
            steps.append(name)
            reached = name.startswith(what) and sum(s.startswith(what) for s in steps) == nth
        if reached:
            raise error()

    lake.step = step
    try:
        yield steps
    finally:
        lake.step = lambda _what: None


@contextmanager
def counted(lake: MemoryLake, disturb: Callable[[int], object] = lambda _number: None) -> Iterator[list[str]]:
    """Call `disturb` before each step, with the number of steps before it. Yields all steps; its own do not count."""
    steps: list[str] = []

    def step(name: str) -> None:
        steps.append(name)
        lake.step = lambda _what: None
        try:
            disturb(len(steps) - 1)
        finally:
            lake.step = step

    lake.step = step
    try:
        yield steps
    finally:
        lake.step = lambda _what: None


def dies_at(number: int) -> Callable[[int], None]:
    """A process that is killed at a step, and takes none any more."""

    def disturb(before: int) -> None:
        if before >= number:
            raise Killed

    return disturb
