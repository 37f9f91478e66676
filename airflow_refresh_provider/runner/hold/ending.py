"""Ways in which a run ends without being published, and the events that history is made of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from airflow_refresh_provider.core.plan.policy import ENVIRONMENT_ERRORS, KEY_ERRORS, UNRESUMABLE_ERRORS
from airflow_refresh_provider.core.run.lifecycle import TRANSITIONS, Event, State
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import HistoryEntry, Outcome, RunResult
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
from airflow_refresh_provider.runner.hold.tenure import Tenure, commit

RUN_ENDED = "run_ended"


def abandon(tenure: Tenure, reason: str, outcome: Outcome = Outcome.ABANDONED) -> None:
    """Give the run up: its staging goes, history says why. Everything it could still write was fenced before."""
    run = tenure.read_run()
    ended(tenure.ports, tenure.name, run.run_id, run.generation, outcome, reason)
    failed = run.scheduled and outcome is not Outcome.ABANDONED

    def change(record: Record) -> Record:
        counted = after_failure(record, reason) if failed else {}
        return record.after(Event.ABANDON, run=None, **counted)

    tenure.write_record(Event.ABANDON, change)
    tenure.ports.staging.drop(run.plan.staging)
    tenure.ports.store.clear_beats(tenure.name, run.run_id)


@contextmanager
def count_start_failure(ports: Ports, snapshot: Snapshot, record: Record, request: Request) -> Iterator[None]:
    """Count it when a scheduled run cannot even begin for a reason that time does not cure."""
    try:
        yield
    except (Invalid, Refused, Failed) as error:
        if request.scheduled and counts(error.code):
            missed = record.after(Event.START_FAILED, **after_failure(record, error.message))
            with suppress(StaleSnapshot):
                commit(ports, snapshot, missed, Event.START_FAILED)
        raise


def release(tenure: Tenure) -> None:
    """Leave the run for anyone to resume at once."""
    run = tenure.read_run()
    lease = run.lease.model_copy(update={"owner": None, "session": None})
    tenure.write(Event.RELEASE, lease=lease, claims={})


def release_quietly(tenure: Tenure) -> None:
    """Release the run if that is still possible; what went wrong before is what the caller has to hear."""
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
    """Release the run when the work on it fails; one who has lost it touches nothing."""
    try:
        yield
    except Lost:
        raise
    except (RefreshError, LogGap, Interrupted, KeyboardInterrupt):
        release_quietly(tenure)
        raise


def note_failure(tenure: Tenure, error: RefreshError) -> None:
    """Say of a run that is kept what trying again does not mend: its pins are of no use, a scheduled refresh failed.

    That somebody wishes it to rest is no failure.
    """
    if isinstance(error, Paused):
        return
    found = error.message if error.code in UNRESUMABLE_ERRORS else None

    def change(record: Record) -> Record:
        run = record.run
        assert run is not None
        counts_here = run.scheduled and run.unresumable_reason is None and run.failed_in != run.generation
        counted = after_failure(record, error.message) if counts_here else {}
        noted = record.with_run(
            Event.FAIL, unresumable_reason=run.unresumable_reason or found, failed_in=run.generation
        )
        return noted.model_copy(update=counted)

    with suppress(RefreshError):  # what went wrong before is what the caller has to hear
        if (tenure.read_record().state, Event.FAIL) in TRANSITIONS:
            tenure.write_record(Event.FAIL, change)


def must_be_kept(tenure: Tenure, error: RefreshError) -> bool:
    """Whether the run has frozen staging: from then on it is resumed, not given up. Nor is one that did nothing wrong.

    One that found its windows not to add up, because the data themselves are wrong, would only find it again.
    """
    if error.code in ENVIRONMENT_ERRORS:
        return True
    record = tenure.read_record()
    frozen = record.run.frozen if record.run else None
    refuted = frozen is not None and not frozen.current.compared and error.code in KEY_ERRORS
    return record.state is State.FINISHING and not refuted


def ended(
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
            detail=entry.model_dump_json(),
        )
    )
