"""How a run ends without being published, what a failure leaves of it, and the events that history consists of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from airflow_refresh_provider.core.plan.policy import ENVIRONMENT_ERRORS, KEY_ERRORS, UNRESUMABLE_ERRORS
from airflow_refresh_provider.core.run.lifecycle import TRANSITIONS, Event, State
from airflow_refresh_provider.core.run.record import Record, Run
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import HistoryEntry, Outcome, RunResult, StoredHistory
from airflow_refresh_provider.core.run.suspension import after_failure, counts
from airflow_refresh_provider.errors import (
    Failed,
    Interrupted,
    Invalid,
    Lost,
    Paused,
    RefreshError,
    Refused,
    StaleSnapshot,
)
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.control import EventRow, Snapshot
from airflow_refresh_provider.ports.table_log import LogGap
from airflow_refresh_provider.runner.hold.control_writes import commit
from airflow_refresh_provider.runner.hold.leases import release
from airflow_refresh_provider.runner.hold.tenure import Tenure

RUN_ENDED = "run_ended"


def abandon(tenure: Tenure, reason: str, outcome: Outcome = Outcome.ABANDONED) -> None:
    """Abandon the run: its staging is dropped, history has the reason. All it could still write is fenced before."""
    run = tenure.read_run()
    record_end(tenure.ports, tenure.name, run.run_id, run.generation, outcome, reason)
    failed = run.scheduled and outcome is not Outcome.ABANDONED

    def abandoned(record: Record, _run: Run) -> Record:
        counted = after_failure(record, reason) if failed else {}
        return record.after(Event.ABANDON, run=None, **counted)

    tenure.write_record(Event.ABANDON, abandoned)
    tenure.ports.staging.drop(run.plan.staging)
    tenure.ports.store.clear_beats(tenure.name, run.run_id)


@contextmanager
def count_start_failure(ports: Ports, snapshot: Snapshot, record: Record, request: Request) -> Iterator[None]:
    """Count it as a failure when a scheduled run cannot start, for a reason that does not go away by itself."""
    try:
        yield
    except (Invalid, Refused, Failed) as error:
        if request.scheduled and counts(error.code):
            reason = error.kept(redact=record.definition.redact_keys)
            counted = record.after(Event.START_FAILED, **after_failure(record, reason))
            with suppress(StaleSnapshot):
                commit(ports, snapshot, counted, Event.START_FAILED)
        raise


def release_quietly(tenure: Tenure) -> None:
    """Release the run if that is still possible; the caller raises the error from before."""
    with suppress(RefreshError):
        release(tenure)


def release_or_lose(tenure: Tenure) -> None:
    """As `release_quietly`, but raises Lost: it explains whatever error Spark has raised before."""
    try:
        release(tenure)
    except Lost:
        raise
    except RefreshError:
        return


@contextmanager
def release_on_failure(tenure: Tenure) -> Iterator[None]:
    """Release the run when the work on it fails; an owner that has lost it changes nothing."""
    try:
        yield
    except Lost:
        raise
    except (RefreshError, LogGap, Interrupted, KeyboardInterrupt):
        release_quietly(tenure)
        raise


def record_failure(tenure: Tenure, error: RefreshError) -> None:
    """Store of a kept run that it failed: why it can never be resumed, if so, and one more failure if scheduled.

    A pause is no failure.
    """
    if isinstance(error, Paused):
        return

    def failed(record: Record, run: Run) -> Record:
        reason = reason_of(run, error)
        found = reason if error.code in UNRESUMABLE_ERRORS else None
        counts_here = run.scheduled and run.unresumable_reason is None and run.failed_in != run.generation
        counted = after_failure(record, reason) if counts_here else {}
        noted = record.with_run(
            Event.FAIL, unresumable_reason=run.unresumable_reason or found, failed_in=run.generation
        )
        return noted.model_copy(update=counted)

    with suppress(RefreshError):  # the caller raises the error from before
        if (tenure.read_record().state, Event.FAIL) in TRANSITIONS:
            tenure.write_record(Event.FAIL, failed)


def reason_of(run: Run, error: RefreshError) -> str:
    """Why a run failed, as it is stored."""
    return error.kept(redact=run.definition.redact_keys)


def must_be_kept(tenure: Tenure, error: RefreshError) -> bool:
    """Whether a failed run is kept to be resumed: once staging is frozen, or when only its environment failed.

    A run whose windows turned out to be wrong because of the data itself is not kept: it would fail again.
    """
    if error.code in ENVIRONMENT_ERRORS:
        return True
    record, run = tenure.read()
    refuted = run.frozen is not None and not run.frozen.current.compared and error.code in KEY_ERRORS
    return record.state is State.FINISHING and not refuted


def record_end(
    ports: Ports,
    name: str,
    run_id: str,
    generation: int,
    outcome: Outcome,
    reason: str | None = None,
    result: RunResult | None = None,
) -> None:
    """Write the end of a run into the events; the last such row of a run counts."""
    at = ports.clock.now()
    entry = HistoryEntry(run_id=run_id, outcome=outcome, at=at, generation=generation, reason=reason, result=result)
    ports.store.add_event(
        EventRow(
            name=name,
            run_id=run_id,
            event=RUN_ENDED,
            generation=generation,
            at=at,
            detail=StoredHistory(entry=entry).model_dump_json(),
        )
    )
