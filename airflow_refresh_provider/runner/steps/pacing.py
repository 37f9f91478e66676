"""Between two chunks of a unit: the budget of the run is looked at, and its throttle is waited for.

Both are read again before each chunk and while a unit waits, so that a command is effective at the next chunk.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import datetime, timedelta

from airflow_refresh_provider.core.run.budget import time_spent
from airflow_refresh_provider.core.run.prepared import FrozenRun, frozen
from airflow_refresh_provider.core.run.record import Record, Run
from airflow_refresh_provider.core.run.throttle import limit_of, parallel_units, wait_seconds
from airflow_refresh_provider.core.text.wording import counted
from airflow_refresh_provider.runner.facts.records import beats
from airflow_refresh_provider.runner.hold.tenure import UnitTenure
from airflow_refresh_provider.runner.steps.budgets import Written, check_budget
from airflow_refresh_provider.runner.steps.chunks import unfinished

POLL_SECONDS = 2.0
"""How soon a unit that waits sees a pause, another limit, or another owner."""

SHORTEST_WAIT = 0.01
"""Seconds; less is not waited for."""

NOTED_SECONDS = 10.0
"""Shorter waits are noted once."""


@dataclass(frozen=True)
class Merged:
    """A chunk that is in: the rows that it has changed, and from when to when it took."""

    rows: int
    started: datetime
    ended: datetime


class Pace:
    """The pace of one unit. `stop` says that the process is to stop."""

    def __init__(self, held: UnitTenure, run: FrozenRun, stop: threading.Event) -> None:
        self._held = held
        self._ports = held.whole.ports
        self._stop = stop
        self._written = Written(self._ports, run)
        self._last: Merged | None = None
        self._limit: int | None = None
        self._noted: tuple[int, Merged] | None = None

    def next_chunk(self) -> FrozenRun | None:
        """The run, once another chunk may start; None when the process is to stop.

        Raises BudgetSpent, Lost when the run or the unit has another owner, Paused.
        """
        run = self._waited()
        if run is not None:
            check_budget(self._held, run, self._written)
        return run

    def done(self, chunk: Merged) -> None:
        """A chunk is in."""
        self._last = chunk

    def ended(self, run: FrozenRun) -> None:
        """The unit has no more chunks: it waits as before another, while other units have some. Raises Lost, Paused.

        Units that follow each other would not be throttled otherwise.
        """
        if self._limit is not None and unfinished(self._ports, run):
            self._waited()

    def _waited(self) -> FrozenRun | None:
        try:
            return self._wait()
        finally:
            self._ports.heart.waits(self._held.whole.run_id, self._held.slot, None)

    def _wait(self) -> FrozenRun | None:
        while not self._stop.is_set():
            record, run = self._held.read()
            left = self._seconds_left(record, run)
            if left < SHORTEST_WAIT or self._stops(run):
                return frozen(run)
            self._ports.clock.sleep(min(left, POLL_SECONDS))
        return None

    def _seconds_left(self, record: Record, run: Run) -> float:
        """How long to wait from now on."""
        limit, last = limit_of(record), self._last
        self._limit = limit
        if limit is None or last is None:
            return 0.0
        now = self._ports.clock.now()
        left = self._share_left(record, run, limit, last, now)
        if left >= SHORTEST_WAIT:
            self._ports.heart.waits(run.run_id, self._held.slot, now + timedelta(seconds=left))
            self._note(limit, last, left)
        return left

    def _share_left(self, record: Record, run: Run, limit: int, last: Merged, now: datetime) -> float:
        """How much of the time is left that its rows take at its share of the limit."""
        units = parallel_units(run, beats(self._ports, record.name, run), now)
        whole = wait_seconds(last.rows, (last.ended - last.started).total_seconds(), limit, units)
        return whole - (now - last.ended).total_seconds()

    def _note(self, limit: int, last: Merged, left: float) -> None:
        """Note a wait for another limit than before, and each long one."""
        before, self._noted = self._noted, (limit, last)
        if before is None or before[0] != limit or (before[1] is not last and left >= NOTED_SECONDS):
            limited = f"throttled to {counted(limit, 'row')} a second"
            self._ports.watch.note(f"{limited}: unit {self._held.slot} waits {left:.0f} s before its next chunk")

    def _stops(self, run: Run) -> bool:
        """Whether the budget is spent meanwhile, so that there is nothing to wait for."""
        budget = run.budget
        return budget is not None and bool(budget.spent or time_spent(budget, self._ports.clock.now()))
