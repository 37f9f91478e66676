"""Whether a refresh is due, and how far behind its inputs a target is.

Both follow from the same facts: for each input, the commits that changed rows since the version that was applied. Times
are those of commits, not of runs, so that the result does not depend on when it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from airflow_refresh_provider.core.definition.schedule import Schedule, next_tick
from airflow_refresh_provider.core.text.stored import Stored

_JUST_NOW = timedelta.resolution


class Cause(StrEnum):
    """Why a refresh is due, or why not."""

    FIRST = "first"  # it has never been refreshed
    REDEFINED = "redefined"
    OVERWRITTEN = "overwritten"  # another writer, or a run that was abandoned, has written the target
    VIEW_EXPIRES = "view_expires"  # Spark soon refuses the version that the view names
    INTERRUPTED = "interrupted"  # a run can be resumed
    BUDGET_SPENT = "budget_spent"  # a run was stopped, and can be continued
    QUEUED = "queued"  # a request waits
    INTERVAL = "interval"
    CRON = "cron"
    CHANGED = "changed"
    NOTHING_NEW = "nothing_new"
    INPUT_RUNNING = "input_running"  # an input is being refreshed; its rows are read once it is published
    NOT_YET = "not_yet"
    MANUAL = "manual"
    RUNNING = "running"
    PAUSED = "paused"
    SUSPENDED = "suspended"
    UNKNOWN = "unknown"  # an input cannot be read

    @property
    def due(self) -> bool:
        """Whether a refresh is to start now."""
        return self in _DUE


_DUE = {
    *(Cause.FIRST, Cause.REDEFINED, Cause.OVERWRITTEN, Cause.VIEW_EXPIRES, Cause.INTERRUPTED, Cause.BUDGET_SPENT),
    *(Cause.QUEUED, Cause.INTERVAL, Cause.CRON, Cause.CHANGED),
}

_SENTENCES = {
    Cause.FIRST: "it has never been refreshed",
    Cause.REDEFINED: "its definition has changed since the last refresh",
    Cause.OVERWRITTEN: "the target is gone, or has other rows than the last refresh has published",
    Cause.VIEW_EXPIRES: "Spark soon refuses the version that its view names; a newer one has the same rows",
    Cause.INTERRUPTED: "an interrupted run can be resumed",
    Cause.BUDGET_SPENT: "a run whose budget was spent can be continued",
    Cause.QUEUED: "a request waits; an unfinished run goes first",
    Cause.NOTHING_NEW: "no input has changed a row since the last refresh",
    Cause.RUNNING: "it is being refreshed",
    Cause.PAUSED: "it is paused",
}


class Behind(Stored):
    """An input with changes that have not been applied: since when, and when the newest was made.

    `applied_at` is when the applied version was committed. `triggers`: these changes may start a refresh.
    """

    name: str
    applied_at: datetime
    oldest: datetime
    newest: datetime
    triggers: bool = True


@dataclass(frozen=True)
class DueFacts:
    """The facts. `blocked`: why no refresh may start; `ready`: why one is due even if no input has changed.

    `stopped_at`: when the budget of the run in progress was spent, where `ready` is that. `queued`: requests
    wait; they go on waiting while a budget is spent.
    """

    now: datetime
    schedule: Schedule
    refreshed_at: datetime | None
    behind: tuple[Behind, ...]
    blocked: Cause | None = None
    ready: Cause | None = None
    stopped_at: datetime | None = None
    queued: bool = False


@dataclass(frozen=True)
class DueDecision:
    """Why a refresh is due or not, and when it will be if no input changes (None = never)."""

    cause: Cause
    next_at: datetime | None = None


def due(facts: DueFacts) -> DueDecision:
    """Decide whether a refresh is due."""
    if facts.blocked:
        return DueDecision(facts.blocked)
    if facts.queued and facts.stopped_at is None:
        return DueDecision(Cause.QUEUED)
    if facts.schedule.by_hand:
        return DueDecision(Cause.MANUAL)
    if facts.stopped_at is not None:
        at = _continues_at(facts.schedule, facts.stopped_at)
        return DueDecision(Cause.BUDGET_SPENT) if at <= facts.now else DueDecision(Cause.NOT_YET, at)
    if facts.ready or facts.refreshed_at is None:
        return DueDecision(facts.ready or Cause.FIRST)
    waiting = [b for b in facts.behind if b.triggers]
    if not waiting:
        return DueDecision(Cause.NOTHING_NEW)
    cause, at = _moment(facts, facts.refreshed_at, waiting)
    return DueDecision(cause) if at <= facts.now else DueDecision(Cause.NOT_YET, at)


def lag(now: datetime, behind: Iterable[Behind]) -> timedelta:
    """How far a target is behind: the age of the oldest change that was not applied; zero if there is none.

    A change with a time in the future, from a clock ahead of this one, counts as made now.
    """
    return max((max(now - b.oldest, _JUST_NOW) for b in behind), default=timedelta(0))


def is_late(schedule: Schedule, seconds: float | None) -> bool:
    """Whether a target exceeds its target lag; one that was never refreshed (None) does."""
    allowed = schedule.target_lag
    return allowed is not None and (seconds is None or seconds > allowed.total_seconds())


def describe(cause: Cause, behind: Iterable[Behind], suspended: str | None = None, ready: Cause | None = None) -> str:
    """The cause as a sentence, with the changes that wait, or with the reason of a suspension.

    `ready` is why it would be due if its schedule were not manual.
    """
    waiting = ", ".join(f"{b.name} since {b.oldest:%Y-%m-%d %H:%M:%S} UTC" for b in behind)
    if sentence := _SENTENCES.get(cause):
        return sentence
    match cause:
        case Cause.NOT_YET if ready is Cause.BUDGET_SPENT:
            return "the budget of its run is spent; the next run continues it"
        case Cause.MANUAL:
            why = describe(ready, ()) if ready else f"unapplied changes: {waiting}" if waiting else ""
            return f"its schedule is manual; {why}" if why else "its schedule is manual"
        case Cause.SUSPENDED:
            return f"it is suspended: {suspended}"
        case _:
            return f"unapplied changes: {waiting}" if waiting else "the query reads the clock"


def _continues_at(schedule: Schedule, stopped_at: datetime) -> datetime:
    """When a run is continued whose budget is spent: at the next time of the schedule."""
    if schedule.cron:
        return next_tick(schedule.cron, stopped_at)
    return stopped_at + (schedule.interval or schedule.at_most_every or timedelta(0))


def _moment(facts: DueFacts, refreshed_at: datetime, waiting: list[Behind]) -> tuple[Cause, datetime]:
    """When the waiting changes are to be applied."""
    schedule = facts.schedule
    if schedule.cron:
        return Cause.CRON, next_tick(schedule.cron, refreshed_at)
    if pause := schedule.interval:
        at_once = any(b.newest - b.applied_at >= pause for b in waiting)
        return Cause.INTERVAL, facts.now if at_once else min(b.oldest for b in waiting) + pause
    return Cause.CHANGED, refreshed_at + schedule.at_most_every if schedule.at_most_every else facts.now
