"""Whether a refresh is due: read from control tables and logs, without Spark."""

from __future__ import annotations

from datetime import datetime, timedelta

from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.core.run.reports import DueReport
from airflow_refresh_provider.core.run.results import ErrorReport
from airflow_refresh_provider.core.timing.due import Behind, Cause, DueDecision, DueFacts, describe, due, lag
from airflow_refresh_provider.errors import Failed, Invalid, RefreshError, Refused
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.runner.facts.records import owner_liveness
from airflow_refresh_provider.runner.report.input_lags import upstream
from airflow_refresh_provider.runner.report.observation import Observation, observe

_CHECK_AGAIN = timedelta(seconds=15)
"""When to check an input again that is being refreshed."""


def report_due(ports: Ports, seen: Observation) -> DueReport:
    """Whether a refresh of a definition is due now. Raises Invalid when an input is missing."""
    record, now, published = seen.record, seen.now, seen.record.published
    blocked, ready = _blocked(seen), _ready(seen)
    if seen.error and not (blocked and isinstance(seen.error, Invalid | Refused | Failed)):
        seen.must_be_readable()
    behind = seen.inputs.behind if seen.inputs else ()
    decision = due(
        DueFacts(
            now=now,
            schedule=record.definition.refresh,
            refreshed_at=published.started_at or published.at if published else None,
            behind=(*behind, *_clock(record)),
            blocked=blocked,
            ready=ready,
        )
    )
    reason = describe(decision.cause, behind, record.suspended, ready)
    if decision.cause is Cause.NOTHING_NEW and (running := _being_refreshed(ports, record, now)):
        decision = DueDecision(Cause.INPUT_RUNNING, now + _CHECK_AGAIN)
        reason = f"its input {running} is being refreshed"
    return DueReport(
        name=record.name,
        due=decision.cause.due,
        cause=decision.cause.value,
        reason=reason,
        next_at=decision.next_at,
        lag_seconds=lag(now, behind).total_seconds() if published else None,
    )


def due_or_error(ports: Ports, record: Record) -> DueReport:
    """As `report_due`, with the error in the result, so that one definition hides no other."""
    try:
        return report_due(ports, observe(ports, record))
    except RefreshError as error:
        why = ErrorReport.of(error)
        return DueReport(name=record.name, due=False, cause=Cause.UNKNOWN.value, reason=error.message, error=why)


def _clock(record: Record) -> tuple[Behind, ...]:
    """The clock counts as an input that has changed since the last refresh, where the query reads it.

    It has no commits, so it does not start a refresh on change; nor is a target ever behind it.
    """
    published = record.published
    if published is None or not published.clocked or record.definition.refresh.on_change:
        return ()
    return (Behind(name="the clock", applied_at=published.at, oldest=published.at, newest=published.at),)


def _blocked(seen: Observation) -> Cause | None:
    if seen.record.suspended:
        return Cause.SUSPENDED
    if seen.record.paused:
        return Cause.PAUSED
    return Cause.RUNNING if seen.liveness.is_running else None


def _ready(seen: Observation) -> Cause | None:
    record, published = seen.record, seen.record.published
    if record.run is not None:
        return Cause.INTERRUPTED
    if published is None:
        return Cause.FIRST
    if published.definition_hash != record.definition.hash:
        return Cause.REDEFINED
    return Cause.OVERWRITTEN if seen.replaced or seen.overwritten else None


def _being_refreshed(ports: Ports, record: Record, now: datetime) -> str | None:
    """An input that is the target of a definition with a run in progress, whose commits are not published yet.

    It is waited for only where changes start refreshes; any other schedule comes again by itself.
    """
    if not record.definition.refresh.on_change:
        return None
    pins = record.published.pins if record.published else {}
    for name, read in record.definition.inputs.items():
        if read.ignore_changes or not read.trigger or name not in pins:
            continue
        maker = upstream(ports, pins[name])
        made_by = ports.store.read(maker).record if maker else None
        run = made_by.run if made_by else None
        if made_by and run and (run.kept_until(now) or owner_liveness(ports, made_by).is_running):
            return name
    return None
