"""Why a person has to look at a table, from its status alone: the first reason that holds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from airflow_refresh_provider.core.run.forecast import Forecast
from airflow_refresh_provider.core.run.health import Health
from airflow_refresh_provider.core.run.reports import DefinitionStatus, Freshness

FAILED = "failed"


class About(StrEnum):
    """What an alert is about; the first that holds counts."""

    SUSPENSION = "suspension"
    FAILURE = "failure"
    LATENESS = "lateness"
    RETENTION = "retention"


@dataclass(frozen=True)
class Reason:
    """One reason; `since` when it holds, None where that is not known."""

    about: About
    code: str
    message: str
    since: datetime | None = None


def reason_of(
    status: DefinitionStatus, now: datetime, retention_below: timedelta, *, failures: bool = False
) -> Reason | None:
    """The reason to look at a definition. `failures`: also that its last run has failed, which a task says by itself.

    Retention that runs out is part of any other reason.
    """
    retention = _retention(status, now, retention_below)
    first = _suspended(status) or (_failed(status) if failures else None) or _unknown(status) or _late(status, now)
    if first is None or retention is None:
        return first or retention
    return replace(first, message=f"{first.message}\n{retention.message}")


def moment(at: datetime | None) -> str:
    """A time in a message."""
    return f"{at:%Y-%m-%d %H:%M:%S} UTC" if at else "an unknown time"


def _suspended(status: DefinitionStatus) -> Reason | None:
    if not status.suspended:
        return None
    return Reason(About.SUSPENSION, "suspended", f"it is suspended: {status.suspended}")


def _failed(status: DefinitionStatus) -> Reason | None:
    last = status.last_run
    if status.health is not Health.FAILED or last is None:
        return None
    return Reason(About.FAILURE, last.code or FAILED, last.reason or "its last run has failed", last.at)


def _unknown(status: DefinitionStatus) -> Reason | None:
    """Whether it is late cannot be determined, so that nothing else would be reported of it."""
    fresh = status.freshness
    if fresh is None or not (fresh.error or fresh.unreadable_reason):
        return None
    why = fresh.error.message if fresh.error else fresh.unreadable_reason
    return Reason(About.LATENESS, "freshness_unknown", f"whether it is fresh cannot be determined: {why}")


def _late(status: DefinitionStatus, now: datetime) -> Reason | None:
    fresh, ahead = status.freshness, status.forecast
    late_at = ahead.late_at if ahead else None
    if fresh and fresh.late:
        return Reason(About.LATENESS, "late", _how_late(fresh), late_at)
    if ahead is None or not ahead.will_be_late:
        return None
    return Reason(
        About.LATENESS, "late_ahead", f"it becomes late at {moment(late_at)}: {_why_late(status, ahead, now)}"
    )


def _how_late(fresh: Freshness) -> str:
    allowed = timedelta(seconds=fresh.target_lag_seconds or 0)
    behind = (
        "it was never refreshed"
        if fresh.lag_seconds is None
        else f"it is {timedelta(seconds=round(fresh.lag_seconds))} behind its inputs"
    )
    return f"{behind}; its target_lag is {allowed}"


def _why_late(status: DefinitionStatus, ahead: Forecast, now: datetime) -> str:
    if ahead.expected_end:
        return f"its run is expected to end at {moment(ahead.expected_end)}"
    return f"{_next(status, now)}, and takes about as long as usual"


def _next(status: DefinitionStatus, now: datetime) -> str:
    if status.paused or status.suspended:
        return "no refresh starts before it is resumed"
    at = now if status.due and status.due.due else status.due.next_at if status.due else None
    return f"the next refresh is due at {moment(at)}"


def _retention(status: DefinitionStatus, now: datetime, within: timedelta) -> Reason | None:
    """That changes which are not applied expire soon or before the next refresh, or have expired."""
    until = status.freshness.kept_until if status.freshness else None
    if until is not None and until - now < within:
        gone = "can no longer be read" if until <= now else f"can be read until {moment(until)} only"
        message = f"changes of its inputs that are not applied yet {gone}; later the next refresh compares everything"
        return Reason(About.RETENTION, "retention", message, until - within)
    lost = status.forecast.lost_before_next if status.forecast else ()
    if not lost:
        return None
    which = ", ".join(f"{one.name} until {moment(one.lost_at)}" for one in lost)
    message = f"changes that are not applied yet can be read of {which}, and {_next(status, now)}: it would compare all"
    return Reason(About.RETENTION, "retention_ahead", message)
