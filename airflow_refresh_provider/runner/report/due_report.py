"""Whether a refresh is due: read from control tables and logs, without Spark."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from airflow_refresh_provider.core.changes.pins import Pin
from airflow_refresh_provider.core.run.clock import clock_moved
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.core.run.reports import DueReport
from airflow_refresh_provider.core.run.results import ErrorReport
from airflow_refresh_provider.core.timing.due import Behind, Cause, DueFacts, describe, due, lag
from airflow_refresh_provider.errors import Failed, Invalid, RefreshError, Refused
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.runner.facts.records import owner_liveness
from airflow_refresh_provider.runner.report.input_lags import upstream
from airflow_refresh_provider.runner.report.observation import Observation, observe

_CHECK_AGAIN = timedelta(seconds=15)
"""When to check an input again that is being refreshed."""


def report_due(ports: Ports, seen: Observation, makers: Mapping[str, Record] | None = None) -> DueReport:
    """Whether a refresh of a definition is due now. Raises Invalid when an input is missing.

    `makers`: target -> definition, where the logs of inputs are not to be asked which definition has made them.
    """
    found = _due(seen)
    if found.cause == Cause.NOTHING_NEW and (running := _being_refreshed(ports, seen, makers)):
        reason = f"its input {running} is being refreshed"
        at = seen.now + _CHECK_AGAIN
        return found.model_copy(update={"cause": Cause.INPUT_RUNNING.value, "reason": reason, "next_at": at})
    return found


def _due(seen: Observation) -> DueReport:
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
            behind=(*behind, *_clock(record, now)),
            blocked=blocked,
            ready=ready,
            stopped_at=record.run.stopped_at if record.run else None,
            queued=bool(record.queue) and not (record.run and record.run.kept_until(now)),
        )
    )
    return DueReport(
        name=record.name,
        due=decision.cause.due,
        cause=decision.cause.value,
        reason=describe(decision.cause, behind, record.suspended, ready),
        next_at=decision.next_at,
        lag_seconds=lag(now, behind).total_seconds() if published else None,
        kept_until=seen.inputs.kept_until if seen.inputs else None,
    )


def due_or_error(ports: Ports, record: Record) -> DueReport:
    """As `report_due`, with the error in the result, so that one definition hides no other."""
    try:
        return report_due(ports, observe(ports, record))
    except RefreshError as error:
        why = ErrorReport.of(error)
        return DueReport(name=record.name, due=False, cause=Cause.UNKNOWN.value, reason=error.message, error=why)


def _clock(record: Record, now: datetime) -> tuple[Behind, ...]:
    """The clock counts as an input that has changed since the last refresh, where the query reads something else of it.

    It has no commits, so it does not start a refresh on change; nor is a target ever behind it.
    """
    published = record.published
    if published is None or record.definition.refresh.on_change or not clock_moved(published, record.facts, now):
        return ()
    return (Behind(name="the clock", applied_at=published.at, oldest=published.at, newest=published.at),)


def _blocked(seen: Observation) -> Cause | None:
    if seen.record.suspended:
        return Cause.SUSPENDED
    if seen.record.paused:
        return Cause.PAUSED
    return Cause.RUNNING if seen.live else None


def _ready(seen: Observation) -> Cause | None:
    record, published = seen.record, seen.record.published
    if record.run is not None:
        return Cause.BUDGET_SPENT if record.run.stopped else Cause.INTERRUPTED
    if published is None:
        return Cause.FIRST
    if published.definition_hash != record.definition.hash:
        return Cause.REDEFINED
    if seen.replaced or seen.overwritten:
        return Cause.OVERWRITTEN
    return Cause.VIEW_EXPIRES if seen.view_expires else None


def _being_refreshed(ports: Ports, seen: Observation, makers: Mapping[str, Record] | None) -> str | None:
    """An input that is the target of a definition with a run in progress, whose commits are not published yet.

    It is waited for only where changes start refreshes; any other schedule comes again by itself.
    """
    record = seen.record
    if not record.definition.refresh.on_change:
        return None
    pins = record.published.pins if record.published else {}
    for name, read in record.definition.inputs.items():
        if read.ignore_changes or not read.trigger or name not in pins:
            continue
        made_by = _maker(ports, pins[name]) if makers is None else makers.get(pins[name].location)
        run = made_by.run if made_by else None
        if made_by and run and (run.kept_until(seen.now) or owner_liveness(ports, made_by).is_running):
            return name
    return None


def _maker(ports: Ports, pin: Pin) -> Record | None:
    """The definition of this control root whose target an input is."""
    name = upstream(ports, pin)
    return ports.store.read(name).record if name else None
