"""Progress and history of runs, read from the indexes."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from airflow_refresh_provider.core.plan.plan import ChangeCounts
from airflow_refresh_provider.core.run.costs import Sums, sums_of
from airflow_refresh_provider.core.run.extent import Extent
from airflow_refresh_provider.core.run.health import Health, HealthFacts, health
from airflow_refresh_provider.core.run.last_run import LastRun
from airflow_refresh_provider.core.run.owner import Liveness
from airflow_refresh_provider.core.run.record import Record, Run
from airflow_refresh_provider.core.run.reports import ProgressReport, VnodeProgress
from airflow_refresh_provider.core.run.results import HistoryEntry, Outcome, RunResult
from airflow_refresh_provider.core.run.steering import offers
from airflow_refresh_provider.core.run.throttle import limit_of, waiting_units
from airflow_refresh_provider.errors import Invalid
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.control import ProgressRow
from airflow_refresh_provider.runner.facts.ended_runs import RUN_ENDED, ended, ended_run, newest_first
from airflow_refresh_provider.runner.facts.records import beats, owner_liveness, registered
from airflow_refresh_provider.runner.report.rates import changed_rows, rate

NEWEST_RUNS = 100
"""Of a definition with very many runs, reports look at so many of the newest."""


def history(ports: Ports, name: str) -> list[HistoryEntry]:
    """Ended runs, newest first; of a run that ended more than once in the index, the last entry counts.

    Raises Invalid for a name that was never registered; a dropped definition keeps its history.
    """
    if ports.store.read(name).record is None:
        registered(ports, name, None)
    return ended(ports.store.events(name))


def newest(ports: Ports, name: str) -> list[HistoryEntry]:
    """As `history`, of the newest runs alone."""
    return ended(ports.store.newest_events(name, NEWEST_RUNS))


def unknown_run(name: str, run_id: str) -> Invalid:
    """The error of a command on a run that there is none of."""
    return Invalid(
        "unknown_run",
        f"{name} has no run {run_id!r} in its history, which goes back three months",
        next=f"See the runs with `airflow-refresh history {name}`.",
    )


def costs_since(ports: Ports, names: Collection[str], since: datetime) -> Sums:
    """What runs of these definitions have cost that ended since a moment, in one read of the history."""
    found = ports.store.costs_since(RUN_ENDED, names, since)
    return found.sums + sums_of(newest_first(found.others))


def published_for(ports: Ports, name: str, origin: str) -> RunResult | None:
    """The result of the newest published refresh, if it was made for this origin."""
    published = registered(ports, name, ports.store.read(name).record).published
    if published is None or published.origin != origin:
        return None
    entry = ended_run(ports, name, published.run_id)
    return entry.result if entry else None


def run_of(ports: Ports, name: str, origin: str) -> str | None:
    """The id of the run that is in progress for this origin, or was the last to be published for it."""
    record = registered(ports, name, ports.store.read(name).record)
    found = (one for one in (record.run, record.published) if one is not None and one.origin == origin)
    return next((one.run_id for one in found), None)


def progress(ports: Ports, name: str) -> ProgressReport:
    """The run in progress, else the last one that was published or has ended otherwise."""
    record = registered(ports, name, ports.store.read(name).record)
    run_id = newest_run(record)
    if run_id is None:
        last = record.last_run
        outcome, failure = (last.outcome, last.reason) if last else (None, None)
        return ProgressReport(name=name, run_id=None, stage=None, outcome=outcome, failure=failure)
    liveness, now = owner_liveness(ports, record), ports.clock.now()
    found = report(record, run_id, ports.store.progress(name, run_id), live=liveness.is_running)
    known = {"health": _health(record, liveness, now), "offers": offers(record, liveness, now)}
    return found.model_copy(update={**known, "waits": waits(ports, record)})


def _health(record: Record, liveness: Liveness, now: datetime) -> Health | None:
    """How the run in progress is."""
    if (run := record.run) is None:
        return None
    kept = kept_until(run, liveness, now) is not None
    return health(record, HealthFacts(live=liveness.is_running, kept=kept))


def kept_until(run: Run, liveness: Liveness, now: datetime) -> datetime | None:
    """Until when a run is kept for the tasks of its origin; None where it is not."""
    return run.kept_until(now) if liveness.may_be_kept else None


def waits(ports: Ports, record: Record) -> dict[int, datetime]:
    """Until when units of the run in progress wait for its throttle, by unit; without one nothing is read."""
    run = record.run
    if run is None or limit_of(record) is None:
        return {}
    return waiting_units(run, beats(ports, record.name, run), ports.clock.now())


def newest_run(record: Record) -> str | None:
    """The run in progress, else the one that ended last, else the last published one."""
    if record.run:
        return record.run.run_id
    if record.last_run and record.last_run.run_id:
        return record.last_run.run_id
    return record.published.run_id if record.published else None


def report(record: Record, run_id: str, rows: list[ProgressRow], *, live: bool) -> ProgressReport:
    """How far a run is, by its progress rows, oldest first. `live`: a process works on the run in progress."""
    run, last = record.run, record.last_run
    done = list({(row.vnode, row.unit, row.chunk): row for row in rows}.values())
    known = last if last and last.run_id == run_id and not _continued(run, last) else None
    whole = run is None and (known is None or known.outcome is Outcome.SUCCEEDED)
    size = _planned(run, done) if run and run.frozen else _recorded(done, whole=whole)
    speed = rate(done, run.lease.taken_at) if run and live and not run.published else None
    return ProgressReport(
        name=record.name,
        run_id=run_id,
        stage=stage_of(run) if run else None,
        **size.model_dump(),
        percent=size.percent,
        rows_per_second=speed,
        seconds_left=size.seconds_left(speed),
        outcome=known.outcome if known else None,
        failure=known.reason if known else None,
        budget=run.budget if run else None,
        throttle=limit_of(record) if run else None,
        vnodes=tuple(_vnode(r) for _, r in sorted({row.vnode: row for row in rows}.items())),
    )


def _continued(run: Run | None, last: LastRun) -> bool:
    """Whether a run that was stopped by its budget is in progress again."""
    return run is not None and last.outcome is Outcome.BUDGET_SPENT and not run.stopped


def _planned(run: Run, done: list[ProgressRow]) -> Extent:
    """Of a run whose chunks are planned."""
    assert run.frozen is not None
    planned = [(u, c) for r in run.frozen.rounds for u in r.units for c in u.chunks]
    reached = {row.unit: row.chunk for row in sorted(done, key=lambda r: r.chunk)}
    chunks = [c for u, c in planned if c.number <= reached.get(u.slot, 0)]
    recorded = _recorded(done, whole=False)
    return Extent(
        chunks_done=len(chunks),
        chunks_total=len(planned),
        rows_done=sum(c.counts.total for c in chunks) or recorded.rows_done,
        rows_total=sum(c.counts.total for _, c in planned) or None,
    )


def _recorded(done: list[ProgressRow], *, whole: bool) -> Extent:
    """Of a run of which only the progress rows are left, or that has none yet. `whole`: all its chunks were done."""
    chunks = len({(row.unit, row.chunk) for row in done})
    rows = sum(map(changed_rows, done))
    return Extent(chunks_done=chunks, chunks_total=chunks if whole else None, rows_done=rows)


def stage_of(run: Run) -> str:
    """What a run in progress is doing."""
    return "cleanup" if run.published else "merge" if run.frozen else "load"


def _vnode(row: ProgressRow) -> VnodeProgress:
    return VnodeProgress(
        vnode=row.vnode,
        stage=row.stage,
        unit=row.unit,
        chunk=row.chunk,
        generation=row.generation,
        main_position=row.main_position,
        staging_position=row.staging_position,
        rows=ChangeCounts(inserted=row.inserted, updated=row.updated, deleted=row.deleted),
        bytes=row.bytes,
        commit_version=row.commit_version,
        at=row.at,
    )
