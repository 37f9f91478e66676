"""One run in detail: from the record while it is in progress, from the history after its end; and its progress rows."""

from __future__ import annotations

from datetime import timedelta

from airflow_refresh_provider.core.plan.foreseen import Estimates
from airflow_refresh_provider.core.run.last_run import LastRun
from airflow_refresh_provider.core.run.notices import notices_of
from airflow_refresh_provider.core.run.record import Record, Run
from airflow_refresh_provider.core.run.results import ErrorReport, HistoryEntry, Outcome, RunResult
from airflow_refresh_provider.core.run.run_detail import (
    ChunkDetail,
    Part,
    PinnedInput,
    RunDetail,
    aftermath,
    chunks_of,
    ended_phases,
    inputs_of,
    phases_of,
)
from airflow_refresh_provider.core.run.steering import offers
from airflow_refresh_provider.core.run.throttle import limit_of
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.control import ProgressRow
from airflow_refresh_provider.runner.facts.ended_runs import ended_run
from airflow_refresh_provider.runner.facts.records import owner_liveness, registered
from airflow_refresh_provider.runner.hold.spending import of_chunks
from airflow_refresh_provider.runner.report import reports
from airflow_refresh_provider.runner.report.rates import changed_rows


def run_detail(ports: Ports, name: str, run_id: str) -> RunDetail:
    """A run of a definition. Raises Invalid where there is none of that id, or no such definition."""
    record = registered(ports, name, ports.store.read(name).record)
    rows = ports.store.progress(name, run_id)
    if record.run and record.run.run_id == run_id:
        return _in_progress(ports, record, record.run, rows)
    entry = ended_run(ports, name, run_id)
    if entry is None:
        raise reports.unknown_run(name, run_id)
    return _ended(record, entry, run_id, rows)


def _in_progress(ports: Ports, record: Record, run: Run, rows: list[ProgressRow]) -> RunDetail:
    liveness, kept_until = owner_liveness(ports, record), run.kept_until(ports.clock.now())
    how_far = reports.report(record, run.run_id, rows, live=liveness.is_running)
    last = record.last_run
    failed = last is not None and last.failed and last.run_id == run.run_id and run.failed_in == run.generation
    done = {(row.unit, row.chunk): row.generation for row in rows}
    scope = run.frozen.fell_back if run.frozen and run.frozen.fell_back else run.plan.scope
    return RunDetail(
        name=record.name,
        run_id=run.run_id,
        stage=reports.stage_of(run),
        started_at=run.started_at,
        origin=run.origin,
        owner=run.lease.owner.label if run.lease.owner else None,
        live=liveness.is_running,
        kept_until=kept_until,
        cancelled=run.cancelled,
        requests=run.requests,
        attempts=run.attempts,
        owners=run.owners,
        generations=run.generations,
        mode=run.mode.value,
        requested_mode=run.plan.mode.value,
        mode_code=scope.code if scope else None,
        mode_reason=scope.text if scope else None,
        estimates=run.estimates,
        inputs=inputs_of(run),
        planned=run.frozen.counts() if run.frozen else None,
        unchanged=run.frozen.unchanged if run.frozen else None,
        phases=phases_of(run, held=liveness.is_running or kept_until is not None),
        chunks=chunks_of(run, done, live=liveness.is_running),
        notices=notices_of(run),
        offers=offers(record, liveness, ports.clock.now()),
        budget=run.budget,
        throttle=limit_of(record),
        spent=run.spent + of_chunks(rows),
        bytes_to_read=run.bytes_to_read,
        waits=reports.waits(ports, record),
        error=_failure(record, last, how_far.chunks_done) if last and failed else None,
        **{
            field: getattr(how_far, field)
            for field in (
                *("chunks_done", "chunks_total", "rows_done", "rows_total"),
                *("percent", "rows_per_second", "seconds_left"),
            )
        },
    )


def _failure(record: Record, last: LastRun, done: int) -> ErrorReport:
    """Why a run in progress has failed, and what is left of it."""
    return aftermath(record, last.run_id or "", last.code or last.outcome.value, last.reason or "", done)


def _ended(record: Record, entry: HistoryEntry, run_id: str, rows: list[ProgressRow]) -> RunDetail:
    result = entry.result
    chunks = _recorded(rows, entry.attempt_generation)
    published = entry.outcome is Outcome.SUCCEEDED
    last = record.last_run if record.last_run and record.last_run.run_id == run_id else None
    code = (last.code if last else None) or entry.outcome.value
    reason = entry.reason or entry.outcome.value
    return RunDetail(
        name=record.name,
        run_id=run_id,
        outcome=entry.outcome,
        started_at=entry.at - timedelta(seconds=entry.elapsed_seconds),
        ended_at=entry.at,
        attempts=entry.attempts,
        owners=entry.owners,
        generations=(entry.generation,),
        requests=entry.requests,
        mode=result.mode if result else entry.mode,
        requested_mode=entry.requested_mode,
        mode_code=result.mode_code if result else None,
        mode_reason=result.mode_reason if result else None,
        estimates=result.estimates if result else Estimates(),
        inputs=_inputs(result) if result else (),
        chunks_done=result.chunks.done if result else len(chunks),
        chunks_total=result.chunks.done if result else None,
        rows_done=sum(map(changed_rows, rows)),
        percent=100.0 if published else None,
        phases=ended_phases(result) if result else (),
        chunks=chunks,
        notices=result.notices if result else (),
        error=None if published else aftermath(record, run_id, code, reason, len(chunks)),
        spent=entry.spent,
        bytes_to_read=entry.bytes_to_read,
        result=result,
    )


def _inputs(result: RunResult) -> tuple[PinnedInput, ...]:
    windows = result.windows
    return tuple(
        PinnedInput(name=name, version=version, after=windows[name][0] if name in windows else None)
        for name, version in result.input_versions.items()
    )


def _recorded(rows: list[ProgressRow], attempt: int) -> tuple[ChunkDetail, ...]:
    """The chunks of a run that has ended, by its progress rows; its last attempt began with the generation `attempt`.

    A unit that was started again within an attempt has gone on with another generation, too.
    """
    changed: dict[tuple[int, int], int] = {}
    by: dict[tuple[int, int], int] = {}
    for row in {(row.vnode, row.unit, row.chunk): row for row in rows}.values():
        at = row.unit, row.chunk
        changed[at] = changed.get(at, 0) + changed_rows(row)
        by[at] = row.generation
    last = {unit: max(made for (of, _), made in by.items() if of == unit) for unit, _ in by}
    return tuple(
        ChunkDetail(
            unit=unit,
            number=number,
            state=Part.EARLIER if by[unit, number] < max(attempt, last[unit]) else Part.DONE,
            rows=rows,
        )
        for (unit, number), rows in sorted(changed.items())
    )
