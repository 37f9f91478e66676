"""What is to be expected of a definition, from what was seen of it."""

from __future__ import annotations

from datetime import datetime

from airflow_refresh_provider.core.definition.mode import Mode
from airflow_refresh_provider.core.run.durations import Usual, usual
from airflow_refresh_provider.core.run.forecast import Forecast, ForecastFacts, RunAhead, forecast
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.core.run.reports import DueReport, RunStatus
from airflow_refresh_provider.core.run.results import Outcome
from airflow_refresh_provider.runner.report.observation import Observation


def forecast_of(seen: Observation, due: DueReport | None, run: RunStatus | None) -> Forecast | None:
    """The forecast that follows from what was seen; None where inputs or target cannot be read.

    Before the first refresh nothing is known of inputs, and of a target that others have written nothing counts.
    """
    if seen.error or seen.replaced or due is None:
        return None
    found = seen.inputs
    return forecast(
        ForecastFacts(
            now=seen.now,
            target_lag=seen.record.definition.refresh.target_lag,
            oldest=min((one.oldest for one in found.behind), default=None) if found else None,
            lost_at=found.kept if found else None,
            next_at=_next_at(due, seen.now),
            halted=seen.record.paused or seen.record.suspended is not None,
            usual=_usual(seen.record),
            run=_ahead(seen.record, run) if run else None,
        )
    )


def _next_at(due: DueReport, now: datetime) -> datetime | None:
    return now if due.due else due.next_at


def _usual(record: Record) -> Usual | None:
    """What refreshes take of the mode of the run in progress, or else of the last one; where not known, what the last
    one took. The control tables are not searched for more.
    """
    last = record.last_run
    done = last if last and last.outcome is Outcome.SUCCEEDED and last.mode else None
    before = Mode(done.mode) if done and done.mode else None
    mode = record.run.mode if record.run else before
    known = usual(record.durations, mode) if mode else None
    if known or before is None or done is None or done.elapsed_seconds is None:
        return known
    return Usual(seconds=done.elapsed_seconds, mode=before, runs=1)


def _ahead(record: Record, run: RunStatus) -> RunAhead | None:
    """The run in progress; one without an owner only starts again when a refresh is due, a paused one by hand."""
    if record.run is None or not (run.live or (run.kept_until and not record.paused)):
        return None
    return RunAhead(run.started_at, run.seconds_left, staged=record.run.frozen is not None)
