"""The results of refreshes, as callers get them."""

from __future__ import annotations

from airflow_refresh_provider.core.changes.pins import digests, ignored_files
from airflow_refresh_provider.core.definition.mode import Mode
from airflow_refresh_provider.core.plan.reasons import AS_PLANNED, Reason
from airflow_refresh_provider.core.run.notices import notices_of
from airflow_refresh_provider.core.run.record import Published, Record, Run
from airflow_refresh_provider.core.run.results import ChunkCounts, Outcome, Rows, RunResult
from airflow_refresh_provider.runner.facts.stopwatch import Stopwatch
from airflow_refresh_provider.runner.hold.takeover import HeldRun
from airflow_refresh_provider.runner.steps.start import NotStarted


def result_of(name: str, run: Run, published: Published, held: HeldRun, skipped: int) -> RunResult:
    """The result of a published run."""
    rounds = run.frozen.rounds if run.frozen else ()
    reason = (run.frozen.fell_back if run.frozen else None) or run.plan.scope
    return RunResult(
        run_id=run.run_id,
        name=name,
        outcome=Outcome.SUCCEEDED,
        mode=run.mode.value,
        requested_mode=run.plan.mode.value,
        owners=run.owners,
        mode_reason=reason.text if reason else None,
        mode_code=reason.code if reason else None,
        fell_back=not run.windows and run.plan.mode is not Mode.FULL and _unplanned(reason),
        foreseen=run.plan.foreseen,
        estimates=run.estimates,
        generation=run.generation,
        resumed=held.resumed,
        rows=Rows(
            inserted=run.counts.inserted,
            updated=run.counts.updated,
            deleted=run.counts.deleted,
            unchanged=run.frozen.unchanged if run.frozen else 0,
        ),
        touched=run.frozen.touched if run.frozen else None,
        sampled=run.frozen.sampled if run.frozen else None,
        within_tolerance=run.frozen.within_tolerance if run.frozen else 0,
        bytes_to_read=run.bytes_to_read,
        chunks=ChunkCounts(done=sum(len(u.chunks) for r in rounds for u in r.units), skipped=skipped),
        input_versions=digests(run.plan.pins),
        ignored_files=ignored_files(run.plan.pins),
        notices=notices_of(run),
        windows={name: (window.after, window.upto) for name, window in run.windows.items()},
        target_version=published.seal_version,
        published_version=published.version,
        reason=held.decision.reason if held.decision else None,
        requests=run.requests,
    )


def _unplanned(reason: Reason | None) -> bool:
    return reason is not None and reason.code not in AS_PLANNED


def stopped_result(record: Record, held: HeldRun, done: int, reason: str, watch: Stopwatch) -> RunResult:
    """The result of a run whose budget is spent, with so many of its chunks in the target."""
    run, published = record.run, record.published
    assert run is not None
    return RunResult(
        run_id=run.run_id,
        name=record.name,
        outcome=Outcome.BUDGET_SPENT,
        mode=run.mode.value,
        requested_mode=run.plan.mode.value,
        owners=run.owners,
        generation=run.generation,
        resumed=held.resumed,
        chunks=ChunkCounts(done=done),
        input_versions=digests(run.plan.pins),
        published_version=published.version if published else None,
        attempts=run.attempts,
        elapsed_seconds=run.elapsed(held.tenure.ports.clock.now()),
        spent=record.last_run.spent if record.last_run else None,
        bytes_to_read=run.bytes_to_read,
        seconds=watch.total(),
        stages=watch.stages,
        reason=reason,
        requests=run.requests,
    )


def not_started(found: NotStarted, watch: Stopwatch) -> RunResult:
    """The result of a refresh that was not needed, or that another run is in the way of."""
    record, published = found.record, found.record.published
    return RunResult(
        run_id=None,
        name=record.name,
        outcome=found.outcome,
        generation=record.generation,
        input_versions=digests(published.pins) if published else {},
        target_version=published.seal_version if published else None,
        published_version=published.version if published else None,
        seconds=watch.total(),
        stages=watch.stages,
        reason=found.reason,
        requests=found.requests,
    )
