"""How a run ends without being published, and what a failure leaves of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from airflow_refresh_provider.core.plan.policy import ENVIRONMENT_ERRORS, KEY_ERRORS, UNRESUMABLE_ERRORS
from airflow_refresh_provider.core.run.last_run import LastRun
from airflow_refresh_provider.core.run.lifecycle import TRANSITIONS, Event, State
from airflow_refresh_provider.core.run.record import Record, Run
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import Outcome
from airflow_refresh_provider.core.run.spent import Spent
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
from airflow_refresh_provider.ports.control import Snapshot
from airflow_refresh_provider.ports.table_log import LogGap
from airflow_refresh_provider.runner.hold.control_writes import commit
from airflow_refresh_provider.runner.hold.leases import release
from airflow_refresh_provider.runner.hold.run_ends import record_end
from airflow_refresh_provider.runner.hold.spending import spent_by
from airflow_refresh_provider.runner.hold.tenure import Tenure


def abandon(tenure: Tenure, reason: str, outcome: Outcome = Outcome.ABANDONED, code: str | None = None) -> None:
    """Abandon the run: its staging is dropped, history has the reason. All it could still write is fenced before.

    `code` is that of the error, if there was one; by default that of the failure for which it is abandoned.
    """
    stored, run = tenure.read()
    spent = spent_by(tenure, run)
    record_end(tenure.ports, tenure.name, run, run.generation, outcome, reason, spent=spent)
    failed = run.scheduled and outcome not in (Outcome.ABANDONED, Outcome.CANCELLED)
    last = _last_run(tenure.ports, run, outcome, code or _code_before(stored, run), reason, spent)
    if outcome is Outcome.CANCELLED and stored.last_run:  # its tasks are still refused
        last = last.model_copy(update={"origin": stored.last_run.origin})

    def abandoned(record: Record, _run: Run) -> Record:
        counted = after_failure(record, reason) if failed else {}
        return record.after(Event.ABANDON, run=None, last_run=last, **counted)

    tenure.write_record(Event.ABANDON, abandoned)
    tenure.ports.staging.drop(run.plan.staging)
    tenure.ports.store.clear_beats(tenure.name, run.run_id)


def _code_before(stored: Record, run: Run) -> str | None:
    """Of the failure after which a run can never be resumed; None where it ends for another reason."""
    last = stored.last_run
    return last.code if run.unresumable_reason and last and last.run_id == run.run_id else None


@contextmanager
def store_start_failure(ports: Ports, snapshot: Snapshot, record: Record, request: Request) -> Iterator[None]:
    """Store that a run could not start, and why. Of a scheduled one it counts as a failure, unless the reason goes away
    by itself. A failure that is stored already is not stored again.
    """
    try:
        yield
    except (Invalid, Refused, Failed) as error:
        reason = error.kept(redact=record.definition.redact_keys)
        counted = after_failure(record, reason) if request.scheduled and counts(error.code) else {}
        last = _last_run(ports, None, Outcome.of(error), error.code, reason)
        known = record.last_run is not None and record.last_run.model_copy(update={"at": last.at}) == last
        if counted or not known:
            failed = record.after(Event.START_FAILED, last_run=last, **counted)
            with suppress(StaleSnapshot):
                commit(ports, snapshot, failed, Event.START_FAILED)
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
    except RefreshError:
        release_or_lose(tenure)
        raise
    except (LogGap, Interrupted, KeyboardInterrupt):
        release_quietly(tenure)
        raise


def release_stopped(tenure: Tenure, reason: str) -> Record:
    """Release a run whose budget is spent, so that any caller may continue it. It has not failed. Raises Lost."""

    spent = spent_by(tenure, tenure.read_run())

    def stopped(record: Record, run: Run) -> Record:
        last = _last_run(tenure.ports, run, Outcome.BUDGET_SPENT, Outcome.BUDGET_SPENT.value, reason, spent)
        lease = run.lease.model_copy(update={"owner": None, "session": None})
        return record.with_run(Event.RELEASE, lease=lease, claims={}).model_copy(update={"last_run": last})

    return tenure.write_record(Event.RELEASE, stopped)


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
        last = _last_run(tenure.ports, run, Outcome.of(error), error.code, reason, spent)
        return noted.model_copy(update={"last_run": last, **counted})

    with suppress(RefreshError):  # the caller raises the error from before
        stored, kept = tenure.read()
        spent = spent_by(tenure, kept)
        if (stored.state, Event.FAIL) in TRANSITIONS:
            tenure.write_record(Event.FAIL, failed)


def reason_of(run: Run, error: RefreshError) -> str:
    """Why a run failed, as it is stored."""
    return error.kept(redact=run.definition.redact_keys)


def must_be_kept(tenure: Tenure, error: RefreshError) -> bool:
    """Whether a failed run is kept to be resumed: once staging is frozen, or when only its environment failed.

    A run whose windows turned out to be wrong because of the data itself is not kept: it would fail again. Raises Lost.
    """
    record, run = tenure.read()
    if error.code in ENVIRONMENT_ERRORS:
        return True
    refuted = run.frozen is not None and not run.frozen.current.compared and error.code in KEY_ERRORS
    return record.state is State.FINISHING and not refuted


def _last_run(
    ports: Ports, run: Run | None, outcome: Outcome, code: str | None, reason: str, spent: Spent | None = None
) -> LastRun:
    """How a run came out that is not published; None is one that could not start."""
    at = ports.clock.now()
    return LastRun(
        run_id=run.run_id if run else None,
        outcome=outcome,
        at=at,
        attempts=run.attempts if run else 0,
        elapsed_seconds=run.elapsed(at) if run else None,
        spent=spent,
        code=code,
        reason=reason,
    )
