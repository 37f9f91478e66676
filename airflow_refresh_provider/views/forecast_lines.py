"""What is to be expected of a table, in words."""

from __future__ import annotations

from airflow_refresh_provider.core.run.forecast import Forecast
from airflow_refresh_provider.core.run.reports import DefinitionStatus
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
    fresh = value.freshness
    known = fresh is not None and not (fresh.unreadable_reason or fresh.overwritten_reason)
    behind = formats.duration(fresh.lag_seconds) if fresh and known else None
    ahead = value.forecast
    return f"{behind}, late {formats.minute(ahead.late_at)}" if ahead and ahead.will_be_late else behind
