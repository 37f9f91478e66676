"""Cancelling a run, from its record alone: which run a request means, what is stored, and who is refused afterwards.

A cancellation draws a generation and takes the lease away in one write, so that the owner has lost the run. It says
nothing about the target: as after any other owner, the next one fences before it looks there.
"""

from __future__ import annotations

from airflow_refresh_provider.core.run.cancellation import CODE, Cancellation
from airflow_refresh_provider.core.run.last_run import LastRun
from airflow_refresh_provider.core.run.lifecycle import Event
from airflow_refresh_provider.core.run.one_run import the_run
from airflow_refresh_provider.core.run.record import Lease, Record, Run
from airflow_refresh_provider.core.run.results import Outcome
from airflow_refresh_provider.errors import Cancelled, Refused


def run_to_cancel(record: Record, run_id: str | None) -> Run:
    """The run in progress, if it is the one that is meant; without an id any is. Raises Refused: the race was lost."""
    name = record.name
    run = record.run if run_id is None else the_run(record, run_id)
    if run is None:
        raise _refused("nothing_to_cancel", f"{name} has no run in progress", name)
    if run.published:
        raise _refused("run_complete", f"run {run.run_id} of {name} is complete: it is already published", name)
    return run


def is_cancelled(run: Run, *, abandon: bool) -> bool:
    """Whether a request changes nothing any more."""
    return run.cancelled is not None and run.lease.owner is None and run.cancelled.abandon >= abandon


def cancelled(record: Record, run: Run, cancellation: Cancellation, sessions: tuple[str, ...]) -> Record:
    """The record after a run of it is cancelled. `sessions` may still run statements for it."""
    generation = record.generation + 1
    lease = Lease(generation=generation, owner=None, session=None, taken_at=cancellation.at)
    changed = record.with_run(
        Event.CANCEL,
        lease=lease,
        claims={},
        generations=(*run.generations, generation),
        left_over=sessions,
        cancelled=cancellation,
    )
    last = LastRun(
        run_id=run.run_id,
        outcome=Outcome.CANCELLED,
        at=cancellation.at,
        attempts=run.attempts,
        elapsed_seconds=run.elapsed(cancellation.at),
        code=CODE,
        reason=f"{cancellation.text}; {cancellation.then}",
        origin=run.origin,
    )
    return changed.model_copy(update={"generation": generation, "last_run": last})


def why_cancelled(record: Record, run_id: str) -> Cancelled | None:
    """The error of an owner whose run was cancelled, and was not resumed since."""
    run, last = record.run, record.last_run
    if run is not None and run.run_id == run_id:
        return _error(record, run_id) if run.cancelled else None
    return _error(record, run_id) if _was_cancelled(last) and last and last.run_id == run_id else None


def check_not_cancelled(record: Record, origin: str | None) -> None:
    """Refuse to go on for an origin whose run was cancelled, as a task that is tried again does. Raises Cancelled."""
    run, last = record.run, record.last_run
    if origin is None:
        return
    if run is not None and run.origin == origin:
        if run.cancelled:
            raise _error(record, run.run_id)
    elif _was_cancelled(last) and last and last.origin == origin:
        raise _error(record, last.run_id or "")


def _was_cancelled(last: LastRun | None) -> bool:
    return last is not None and last.outcome is Outcome.CANCELLED


def _error(record: Record, run_id: str) -> Cancelled:
    name, run = record.name, record.run
    last = record.last_run
    how = last.reason if last and last.run_id == run_id and last.reason else CODE
    kept = run is not None and run.run_id == run_id and not (run.cancelled and run.cancelled.abandon)
    then = "continues it after its last chunk" if kept else "starts a new run"
    return Cancelled(
        CODE,
        f"run {run_id} of {name} was {how}",
        left="Everything committed so far stays in the target; nothing of it is published.",
        next=f"`airflow-refresh run {name}`, or a new DAG run, {then}.",
    )


def _refused(code: str, message: str, name: str) -> Refused:
    return Refused(code, message, next=f"See its runs with `airflow-refresh history {name}`.")
