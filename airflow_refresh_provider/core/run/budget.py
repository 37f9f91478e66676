"""The budget of a run: what it may spend from the moment at which it was started or resumed, and when that is spent."""

from __future__ import annotations

from datetime import datetime, time, timedelta

from airflow_refresh_provider.core.definition.budget import Budget
from airflow_refresh_provider.core.text.stored import Stored
from airflow_refresh_provider.core.text.wording import counted


class RunBudget(Stored):
    """The budget of a run in progress. `spent`: what was spent, once a unit has found that out, at `spent_at`; then the
    run stops.

    It counts from `since`, and so do the commits of `generation` and of younger ones. `until` is the moment of the time
    of day.
    """

    since: datetime
    generation: int
    until: datetime | None = None
    seconds: int | None = None
    bytes: int | None = None
    spent: str | None = None
    spent_at: datetime | None = None

    def unspent(self) -> RunBudget:
        """The budget as it was before a unit has found it spent."""
        return self.model_copy(update={"spent": None, "spent_at": None})


def granted(budget: Budget | None, now: datetime, generation: int) -> RunBudget | None:
    """The budget of a run that is started or resumed now, under this generation."""
    if budget is None:
        return None
    until = None if budget.until is None else _next(budget.until, now)
    return RunBudget(since=now, generation=generation, until=until, seconds=budget.seconds, bytes=budget.bytes)


def time_spent(budget: RunBudget, now: datetime) -> str | None:
    """Which time has passed, None while there is some left."""
    if budget.until is not None and now >= budget.until:
        return f"until {budget.until:%Y-%m-%d %H:%M} UTC"
    if budget.seconds is not None and now >= budget.since + timedelta(seconds=budget.seconds):
        return counted(budget.seconds, "second")
    return None


def spent(budget: RunBudget, now: datetime, written: int) -> str | None:
    """What is spent, None while something is left of everything. `written`: bytes since the budget counts."""
    if budget.bytes is not None and written >= budget.bytes:
        return f"{counted(written, 'byte')} of {budget.bytes:,}"
    return time_spent(budget, now)


def _next(time_of_day: str, now: datetime) -> datetime:
    """The first moment of a time of day in UTC after now."""
    today = datetime.combine(now.date(), time.fromisoformat(time_of_day), now.tzinfo)
    return today if today > now else today + timedelta(days=1)
