"""Interruptions at a named step: a process that dies there, or a statement that fails there."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from airflow_refresh_provider.errors import Retry
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


class Killed(BaseException):
    """The end of a process: nothing in the runner handles it."""


def killed() -> BaseException:
    return Killed()


def disconnected() -> BaseException:
    return Retry("connection_lost", "the connection to Spark broke", left="Not known.", next="Run again.")


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
