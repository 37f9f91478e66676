"""Progress and history of runs, read from the indexes."""

from __future__ import annotations

from pydantic import ValidationError

from airflow_refresh_provider.core.plan.plan import ChangeCounts
from airflow_refresh_provider.core.run.record import Record, Run
from airflow_refresh_provider.core.run.reports import ProgressReport, VnodeProgress
from airflow_refresh_provider.core.run.results import HistoryEntry, RunResult, StoredHistory
from airflow_refresh_provider.errors import Invalid
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.control import ProgressRow
from airflow_refresh_provider.runner.facts.records import registered
from airflow_refresh_provider.runner.hold.ending import RUN_ENDED


def history(ports: Ports, name: str) -> list[HistoryEntry]:
    """Ended runs, newest first; of a run that ended more than once in the index, the last entry counts.

    Raises Invalid for a name that was never registered; a dropped definition keeps its history.
    """
    if ports.store.read(name).record is None:
        registered(ports, name, None)
    entries: dict[str | None, HistoryEntry] = {}
    for row in ports.store.events(name):
        if row.event == RUN_ENDED:
            entries.pop(row.run_id, None)
            entries[row.run_id] = _entry(row.detail)
    return list(reversed(entries.values()))


def _entry(detail: str) -> HistoryEntry:
    try:
        return StoredHistory.model_validate_json(detail).entry
    except ValidationError:
        raise Invalid(
            "newer_control_format",
            "the history has an entry that this version of airflow-refresh-provider cannot read",
            next="Upgrade airflow-refresh-provider here.",
        ) from None


def published_for(ports: Ports, name: str, origin: str) -> RunResult | None:
    """The result of the newest published refresh, if it was made for this origin."""
    published = registered(ports, name, ports.store.read(name).record).published
    if published is None or published.origin != origin:
        return None
    return next((entry.result for entry in history(ports, name) if entry.run_id == published.run_id), None)


def progress(ports: Ports, name: str) -> ProgressReport:
    """The run in progress, else the last published one."""
    record = registered(ports, name, ports.store.read(name).record)
    run_id = newest_run(record)
    if run_id is None:
        return ProgressReport(name=name, run_id=None, stage=None)
    return report(record, run_id, ports.store.progress(name, run_id))


def newest_run(record: Record) -> str | None:
    """The run in progress, else the last published one."""
    if record.run:
        return record.run.run_id
    return record.published.run_id if record.published else None


def report(record: Record, run_id: str, rows: list[ProgressRow]) -> ProgressReport:
    """How far a run is, by its progress rows."""
    run = record.run
    planned = [(u, c) for r in run.frozen.rounds for u in r.units for c in u.chunks] if run and run.frozen else None
    reached = {unit: max(r.chunk for r in rows if r.unit == unit) for unit in {r.unit for r in rows}}
    # The chunks of a unit follow each other; of a vnode that is cut only the row of its last one is left.
    done = [c for u, c in planned or () if c.number <= reached.get(u.slot, 0)]
    chunks_done = len(done) if planned is not None else len({(r.unit, r.chunk) for r in rows})
    return ProgressReport(
        name=record.name,
        run_id=run_id,
        stage=stage_of(run) if run else None,
        chunks_done=chunks_done,
        chunks_total=len(planned) if planned is not None else chunks_done if run is None else None,
        rows_done=sum(c.counts.total for c in done) or sum(r.inserted + r.updated + r.deleted for r in rows),
        rows_total=sum(c.counts.total for _, c in planned) or None if planned is not None else None,
        vnodes=tuple(_vnode(r) for r in rows),
    )


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
