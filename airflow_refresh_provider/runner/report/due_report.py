"""Whether a refresh is due: read from control tables and logs, without Spark."""

from __future__ import annotations

from datetime import datetime, timedelta

from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.core.run.reports import DueReport
from airflow_refresh_provider.core.timing.due import Behind, Cause, DueDecision, DueFacts, describe, due, lag
from airflow_refresh_provider.errors import Failed, Invalid, Refused
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.runner.facts import targets
from airflow_refresh_provider.runner.facts.records import owner_liveness, registered
from airflow_refresh_provider.runner.report.input_lags import inputs_now, naming, upstream

_CHECK_AGAIN = timedelta(seconds=15)
"""When to check an input again that is being refreshed."""


def report_due(ports: Ports, name: str) -> DueReport:
    """Whether a refresh of a definition is due now. Raises Invalid for an unknown name or a missing input."""
    record = registered(ports, name, ports.store.read(name).record)
    now, published, blocked = ports.clock.now(), record.published, _blocked(ports, record)
    behind = _behind(ports, record, tolerant=blocked is not None)
    ready = _ready(ports, record)
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
        name=name,
        due=decision.cause.due,
        cause=decision.cause.value,
        reason=reason,
        next_at=decision.next_at,
        lag_seconds=lag(now, behind).total_seconds() if published else None,
    )


def _behind(ports: Ports, record: Record, *, tolerant: bool) -> tuple[Behind, ...]:
    """The inputs with changes that were not applied; `tolerant`: none where they cannot be read."""
    if record.published is None:
        return ()
    try:
        with naming(record.name):
            return inputs_now(ports, record, record.published).behind
    except (Invalid, Refused, Failed):
        if tolerant:
            return ()
        raise


def _clock(record: Record) -> tuple[Behind, ...]:
    """The clock counts as an input that has changed since the last refresh, where the query reads it.

    It has no commits, so it does not start a refresh on change; nor is a target ever behind it.
    """
    published = record.published
    if published is None or not published.clocked or record.definition.refresh.on_change:
        return ()
    return (Behind(name="the clock", applied_at=published.at, oldest=published.at, newest=published.at),)


def _blocked(ports: Ports, record: Record) -> Cause | None:
    if record.suspended:
        return Cause.SUSPENDED
    if record.paused:
        return Cause.PAUSED
    return Cause.RUNNING if owner_liveness(ports, record).is_running else None


def _ready(ports: Ports, record: Record) -> Cause | None:
    published = record.published
    if record.run is not None:
        return Cause.INTERRUPTED
    if published is None:
        return Cause.FIRST
    if published.definition_hash != record.definition.hash:
        return Cause.REDEFINED
    return None if targets.as_published(ports, published, record.definition.target) else Cause.OVERWRITTEN


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
