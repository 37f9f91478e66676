"""How far targets are behind their inputs: read from control tables and logs, without Spark."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from statistics import median

from airflow_refresh_provider.core.plan.reasons import ReasonCode
from airflow_refresh_provider.core.run.freshness_state import freshness_state
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.core.run.reports import Freshness
from airflow_refresh_provider.core.run.results import ErrorReport, HistoryEntry, Outcome
from airflow_refresh_provider.core.timing.due import is_late, lag
from airflow_refresh_provider.errors import RefreshError
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.runner.report import reports
from airflow_refresh_provider.runner.report.input_lags import input_lags, inputs_now
from airflow_refresh_provider.runner.report.observation import Observation, observe

_NEWEST = 5
"""How many of the newest refreshes the duration of the next is estimated from."""
_UNUSUAL = frozenset({ReasonCode.FIRST_REFRESH, ReasonCode.VERIFICATION})


def freshness(ports: Ports, seen: Observation, *, why: bool = False) -> Freshness:
    """How far the target of a definition is behind its inputs; `why` adds each of them."""
    record, age = seen.record, seen.lag_seconds
    schedule, published = record.definition.refresh, record.published
    readable, limited = seen.error is None and seen.replaced is None, schedule.target_lag is not None
    late = seen.error is None and is_late(schedule, age)
    known = age is not None and seen.overwritten is None
    return Freshness(
        name=record.name,
        state=freshness_state(
            age, known=readable and seen.overwritten is None, late=late, limited=limited, live=seen.live
        ),
        unreadable_reason=seen.replaced,
        overwritten_reason=seen.overwritten,
        readable_until=seen.readable_until,
        confirmed_at=seen.inputs.confirmed_at(seen.now) if known and seen.inputs else None,
        lag_seconds=age,
        target_lag_seconds=schedule.target_lag_seconds,
        late=late,
        kept_until=seen.inputs.kept_until if seen.inputs else None,
        inputs=input_lags(ports, published, seen.inputs, seen.now) if published and seen.inputs and why else (),
        error=ErrorReport.of(seen.error) if seen.error else None,
    )


def lag_seconds(ports: Ports, record: Record) -> float | None:
    """How far a target that was just refreshed is behind now; None when that is not known."""
    if record.published is None:
        return None
    with suppress(RefreshError):
        return lag(ports.clock.now(), inputs_now(ports, record, record.published).behind).total_seconds()
    return None


def report_freshness(ports: Ports, record: Record, *, why: bool = False) -> Freshness:
    """How far a target is behind; an error is in the result, so that one definition hides no other."""
    found = freshness(ports, observe(ports, record), why=why)
    return with_expected_seconds(found, reports.newest(ports, record.name))


def with_expected_seconds(found: Freshness, ended: Iterable[HistoryEntry]) -> Freshness:
    """With the median duration of the newest refreshes, None before the first. `ended`: runs, newest first.

    First loads and verifications take longer than those that follow them: they count where there is no other.
    """
    done = [run.result for run in ended if run.outcome is Outcome.SUCCEEDED and run.result]
    usual = [result for result in done if result.mode_code not in _UNUSUAL] or done
    seconds = median(result.seconds for result in usual[:_NEWEST]) if done else None
    return found.model_copy(update={"expected_seconds": None if seconds is None else round(seconds, 3)})
