"""What is to be expected of a table, in words."""

from __future__ import annotations

from airflow_refresh_provider.core.run.forecast import Forecast
from airflow_refresh_provider.core.run.health import Health
from airflow_refresh_provider.core.run.reports import DefinitionStatus
from airflow_refresh_provider.core.timing.due import Cause
from airflow_refresh_provider.views import formats


def late_text(value: Forecast | None) -> str | None:
    """When a table becomes late, or became late."""
    if value is None or value.late_at is None:
        return None
    sure = ", and no refresh is expected to end before" if value.will_be_late else ""
    return f"{formats.time(value.late_at)}{sure}"


def end_text(value: Forecast | None) -> str | None:
    """When the run in progress ends, and what says so."""
    if value is None or value.expected_end is None:
        return None
    by, took = value.usual, formats.duration(value.usual.seconds) if value.usual else None
    if by is None:
        return f"{formats.time(value.expected_end)}, by its rate"
    runs = f"median of the last {by.runs} {by.mode} runs" if by.runs > 1 else f"as the last {by.mode} run"
    return f"{formats.time(value.expected_end)}, {runs}, {took}"


def expiring_text(value: Forecast | None) -> str | None:
    """Until when changes that are not applied can be read, by input."""
    found = value.inputs if value else ()
    before = {True: ", before the next refresh has read them", False: ""}
    return "; ".join(f"{one.name} {formats.time(one.lost_at)}{before[one.before_next]}" for one in found) or None


def behind_text(value: DefinitionStatus) -> str | None:
    """For a column."""
    fresh, ahead = value.freshness, value.forecast
    if fresh is None or fresh.unreadable_reason or fresh.overwritten_reason:
        return None
    behind = formats.duration(fresh.lag_seconds)
    return f"{behind}, late {formats.minute(ahead.late_at)}" if ahead and ahead.will_be_late else behind


def next_refresh(value: DefinitionStatus) -> str | None:
    """For a column: in progress between two tasks of a DAG run, now, or a time. None where no moment is known.

    A run between two tasks is due to be resumed, but by the next task only.
    """
    if value.due is None:
        return None
    if value.health is Health.WAITING:
        return "in progress"
    return "now" if value.due.due else formats.minute(value.due.next_at)


def by_dag(value: DefinitionStatus) -> str | None:
    """The DAG that refreshes a table which has no schedule of its own."""
    return value.refreshed_by if value.due and value.due.cause == Cause.MANUAL else None
