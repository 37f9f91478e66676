"""How far targets are behind their inputs: read from control tables and logs, without Spark."""

from __future__ import annotations

from contextlib import suppress
from statistics import median

from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.core.run.reports import Freshness
from airflow_refresh_provider.core.run.results import ErrorReport, Outcome
from airflow_refresh_provider.core.timing.due import is_late, lag
from airflow_refresh_provider.errors import RefreshError
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.runner.facts import targets
from airflow_refresh_provider.runner.report import reports
from airflow_refresh_provider.runner.report.input_lags import input_lags, inputs_now, naming

_NEWEST = 5
"""How many of the newest refreshes the duration of the next is estimated from."""


def freshness(ports: Ports, record: Record, *, why: bool) -> Freshness:
    """How far the target of a definition is behind its inputs; `why` adds each of them. Raises as `pin`."""
    with naming(record.name):
        return _freshness(ports, record, why=why)


def freshness_or_error(ports: Ports, record: Record, *, why: bool) -> Freshness:
    """As `freshness`, with the error in the result: one definition whose inputs cannot be read hides no other."""
    try:
        return _freshness(ports, record, why=why)
    except RefreshError as error:
        return Freshness(name=record.name, target_lag_seconds=_allowed(record), error=ErrorReport.of(error))


def lag_seconds(ports: Ports, record: Record) -> float | None:
    """How far a target that was just refreshed is behind now; None when that is not known."""
    if record.published is None:
        return None
    with suppress(RefreshError):
        return lag(ports.clock.now(), inputs_now(ports, record, record.published).behind).total_seconds()
    return None


def _freshness(ports: Ports, record: Record, *, why: bool) -> Freshness:
    now, published, schedule = ports.clock.now(), record.published, record.definition.refresh
    replaced = targets.replaced_reason(ports, published, record.definition.target) if published else None
    found = inputs_now(ports, record, published) if published and not replaced else None
    age = lag(now, found.behind) if found else None
    return Freshness(
        name=record.name,
        unreadable_reason=replaced,
        confirmed_at=now - age if age is not None else None,
        lag_seconds=age.total_seconds() if age is not None else None,
        target_lag_seconds=_allowed(record),
        late=is_late(schedule, age.total_seconds() if age is not None else None),
        expected_seconds=_usual_seconds(ports, record.name),
        inputs=input_lags(ports, published, found, now) if published and found and why else (),
    )


def _allowed(record: Record) -> float | None:
    allowed = record.definition.refresh.target_lag
    return allowed.total_seconds() if allowed else None


def _usual_seconds(ports: Ports, name: str) -> float | None:
    done = [e.result.seconds for e in reports.history(ports, name) if e.outcome is Outcome.SUCCEEDED and e.result]
    return round(median(done[:_NEWEST]), 3) if done else None
