"""How a definition, its run and its table are: the one model that list, show, sensors and pages read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any

from airflow_refresh_provider.core.changes.pins import digests, ignored_files
from airflow_refresh_provider.core.run.health import Health, HealthFacts, health
from airflow_refresh_provider.core.run.notice import Notice
from airflow_refresh_provider.core.run.notices import notices_of
from airflow_refresh_provider.core.run.owner import Liveness
from airflow_refresh_provider.core.run.query_notices import query_notices
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.core.run.reports import DefinitionStatus, DueReport, Freshness, RunStatus
from airflow_refresh_provider.core.run.status import status as status_of
from airflow_refresh_provider.core.run.status import status_text
from airflow_refresh_provider.core.run.steering import offers
from airflow_refresh_provider.core.run.throttle import limit_of
from airflow_refresh_provider.errors import RefreshError
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.runner.facts.records import owner_liveness
from airflow_refresh_provider.runner.report import due_report, freshness, reports
from airflow_refresh_provider.runner.report.forecasting import forecast_of
from airflow_refresh_provider.runner.report.observation import Observation, observe


def stored_status(ports: Ports, record: Record) -> DefinitionStatus:
    """A status from the control tables alone: neither inputs nor target are read, so nothing says how fresh it is."""
    return _status(record, _run_status(ports, record, owner_liveness(ports, record)), {})


def status(ports: Ports, record: Record) -> DefinitionStatus:
    """The whole status. What cannot be read of inputs or target is in it as an error."""
    return seen_status(ports, observe(ports, record), partial(due_report.report_due, ports))


def seen_status(
    ports: Ports, seen: Observation, due: Callable[[Observation], DueReport], looked_at: datetime | None = None
) -> DefinitionStatus:
    """The status that follows from what was seen; `looked_at`: when that was, where it is not of now."""
    record = seen.record
    run = _run_status(ports, record, seen.liveness)
    fresh = freshness.freshness(ports, seen)
    found = HealthFacts(
        live=run is not None and run.live,
        kept=run is not None and run.kept_until is not None,
        replaced=seen.replaced is not None,
        overwritten=seen.overwritten is not None,
        unreadable=seen.error is not None,
        lag_seconds=fresh.lag_seconds,
        late=fresh.late,
    )
    next_due = _due(seen, fresh, due)
    ahead = forecast_of(seen, next_due, run)
    known = {"health": health(record, found), "freshness": fresh, "due": next_due, "forecast": ahead}
    return _status(record, run, {**known, "looked_at": looked_at or seen.now})


def unseen_status(ports: Ports, record: Record) -> DefinitionStatus:
    """As `stored_status`, with a health where inputs and target do not count for it."""
    liveness = owner_liveness(ports, record)
    run = _run_status(ports, record, liveness)
    kept = run is not None and run.kept_until is not None
    found = health(record, HealthFacts(live=liveness.is_running, kept=kept, unreadable=True))
    return _status(record, run, {"health": None if found is Health.UNKNOWN else found})


def with_notices(ports: Ports, record: Record) -> DefinitionStatus:
    """As `status`, with notices on the query."""
    return status(ports, record).model_copy(update={"notices": notices_on_query(ports, record)})


def notices_on_query(ports: Ports, record: Record) -> tuple[Notice, ...]:
    """Notices on a query; its target, if there is one, says what types the columns have."""
    table = None
    with suppress(RefreshError):  # the status can be shown where the target's storage does not answer
        table = ports.log.facts(record.definition.target) if record.facts.float_sums else None
    return query_notices(record.definition, record.facts, table.floating if table else None)


def _status(record: Record, run: RunStatus | None, known: Mapping[str, Any]) -> DefinitionStatus:
    """`known` are the fields that follow from a look."""
    published = record.published
    return DefinitionStatus(
        name=record.name,
        target=record.definition.target,
        state=record.state.value,
        status=status_of(record),
        status_text=status_text(record, run.chunks_done if run else 0),
        suspended=record.suspended,
        paused=record.paused,
        throttle=limit_of(record),
        queue=record.queue,
        generation=record.generation,
        run=run,
        last_run=record.last_run,
        published_version=published.version if published else None,
        published_at=published.at if published else None,
        refreshed_by=published.refreshed_by if published else None,
        input_versions=digests(published.pins) if published else {},
        ignored_files=ignored_files(published.pins) if published else {},
        definition_hash=record.definition.hash,
        definition=record.definition,
        **known,
    )


def _due(seen: Observation, fresh: Freshness, due: Callable[[Observation], DueReport]) -> DueReport | None:
    """None where the inputs cannot be read; the error is in `fresh`."""
    if fresh.error:
        return None
    try:
        return due(seen)
    except RefreshError:
        return None  # an input was refreshed or removed meanwhile


def _run_status(ports: Ports, record: Record, liveness: Liveness) -> RunStatus | None:
    if (run := record.run) is None:
        return None
    how_far = reports.report(
        record, run.run_id, ports.store.progress(record.name, run.run_id), live=liveness.is_running
    )
    return RunStatus(
        run_id=run.run_id,
        stage=reports.stage_of(run),
        owner=run.lease.owner.label if run.lease.owner else None,
        live=liveness.is_running,
        origin=run.origin,
        kept_until=reports.kept_until(run, liveness, ports.clock.now()),
        cancelled=run.cancelled,
        started_at=run.started_at,
        generation=run.generation,
        attempts=run.attempts,
        chunks_done=how_far.chunks_done,
        chunks_total=how_far.chunks_total,
        percent=how_far.percent,
        rows_per_second=how_far.rows_per_second,
        seconds_left=how_far.seconds_left,
        budget=run.budget,
        notices=notices_of(run),
        offers=offers(record, liveness, ports.clock.now()),
    )
