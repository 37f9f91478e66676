"""Recovery: find interrupted runs and finish or abandon them, each with a recorded reason; and abandon one on request.

A run that is complete in its target is published, whatever was requested.
"""

from __future__ import annotations

from airflow_refresh_provider.core.run.admin_results import Recovery, RecoveryOutcome
from airflow_refresh_provider.core.run.lifecycle import State
from airflow_refresh_provider.core.run.record import Record, Run
from airflow_refresh_provider.core.run.recovery import Admission, Step, admit
from airflow_refresh_provider.core.run.request import OnInterrupted, Request
from airflow_refresh_provider.core.run.results import ErrorReport, Outcome
from airflow_refresh_provider.errors import RefreshError, Refused
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.control import Snapshot
from airflow_refresh_provider.runner.facts import staging_paths
from airflow_refresh_provider.runner.facts.records import being_dropped, owner_liveness, registered
from airflow_refresh_provider.runner.facts.stopwatch import Stopwatch
from airflow_refresh_provider.runner.hold.control_writes import WRITE_TRIES, contended
from airflow_refresh_provider.runner.hold.takeover import take_over
from airflow_refresh_provider.runner.report.reports import history
from airflow_refresh_provider.runner.steps.one_process import continue_run

_DONE = {
    Step.CLEAN_UP: RecoveryOutcome.CLEANED_UP,
    Step.PUBLISH: RecoveryOutcome.PUBLISHED,
    Step.RESUME: RecoveryOutcome.RESUMED,
    Step.ABANDON: RecoveryOutcome.ABANDONED,
}


def recover(ports: Ports, name: str | None) -> list[Recovery]:
    """One entry for each definition looked at. Of one that is named the error is raised; else it is in its entry."""
    if name is not None:
        return [_recover(ports, name)]
    staging_paths.drop_left_by_dropped(ports)
    return [_recovered_or_error(ports, record) for record in ports.store.records()]


def _recovered_or_error(ports: Ports, record: Record) -> Recovery:
    try:
        return _recover(ports, record.name)
    except RefreshError as error:
        run_id, report = record.run.run_id if record.run else None, ErrorReport.of(error)
        return Recovery(
            name=record.name, run_id=run_id, outcome=RecoveryOutcome.FAILED, reason=error.message, error=report
        )


def _recover(ports: Ports, name: str) -> Recovery:
    staging_paths.drop_orphans(ports, name)
    snapshot = ports.store.read(name)
    record = registered(ports, name, snapshot.record)
    run = record.run
    if record.state is State.RESETTING:
        reason = f"it is being dropped; if no drop is running, finish it with `airflow-refresh drop {name}`"
        return Recovery(name=name, run_id=run.run_id if run else None, outcome=RecoveryOutcome.RESETTING, reason=reason)
    if run is None:
        return _no_run(record)
    if record.paused:
        return Recovery(name=record.name, run_id=run.run_id, outcome=RecoveryOutcome.PAUSED, reason="it is paused")
    if run.cancelled and not run.cancelled.abandon:
        reason = f"it was {run.cancelled.text}; `airflow-refresh run {name}` resumes it"
        return Recovery(name=name, run_id=run.run_id, outcome=RecoveryOutcome.CANCELLED, reason=reason)
    if run.stopped and not run.cancelled:
        reason = f"its budget is spent ({run.stopped}); the next run continues it"
        return Recovery(name=name, run_id=run.run_id, outcome=RecoveryOutcome.BUDGET_SPENT, reason=reason)
    liveness = owner_liveness(ports, record)
    if admit(record, liveness, ports.clock.now()) is not Admission.TAKE_OVER:
        reason = "a live owner holds the run" if liveness.is_running else "the run is between tasks"
        return Recovery(name=record.name, run_id=run.run_id, outcome=RecoveryOutcome.LIVE, reason=reason)
    return _taken_over(ports, snapshot, record, Request())


def abandon(ports: Ports, name: str, *, stop: bool) -> Recovery:
    """End an unfinished run for good: it is fenced and abandoned, and the next refresh starts a new one.

    Without `stop` it is Refused while an owner is running, or the run is parked between two of its tasks.
    """
    request = Request(on_interrupted=OnInterrupted.RESTART, take_over=stop)
    for _ in range(WRITE_TRIES):
        snapshot = ports.store.read(name)
        record = registered(ports, name, snapshot.record)
        if record.state is State.RESETTING:
            raise being_dropped(name)
        if record.run is None:
            return _no_run(record)
        if not stop and admit(record, owner_liveness(ports, record), ports.clock.now()) is Admission.BUSY:
            raise _still_running(name, record.run)
        found = _taken_over(ports, snapshot, record, request)
        if found.outcome is not RecoveryOutcome.LIVE:
            return found
    raise contended(name)


def end_cancelled(ports: Ports, name: str, run_id: str) -> Recovery:
    """Abandon a run that was cancelled for good; one that is complete in its target is published."""
    for _ in range(WRITE_TRIES):
        snapshot = ports.store.read(name)
        record = registered(ports, name, snapshot.record)
        if record.run is None or record.run.run_id != run_id:
            return _not_continued(ports, record, run_id)
        found = _taken_over(ports, snapshot, record, Request())
        if found.outcome is not RecoveryOutcome.LIVE:
            return found
    raise contended(name)


def _taken_over(ports: Ports, snapshot: Snapshot, record: Record, request: Request) -> Recovery:
    """Take the run of a record over, and bring it to whatever end it has to have."""
    run = record.run
    assert run is not None
    watch = Stopwatch(ports.clock)
    held = take_over(ports, snapshot, record, run, request)
    if held is None or held.decision is None:
        return _not_continued(ports, record, run.run_id)
    result = continue_run(held, request, watch, held.decision.step)
    return Recovery(
        name=record.name,
        run_id=run.run_id,
        outcome=_DONE[held.decision.step],
        reason=held.decision.reason,
        result=result,
    )


def _no_run(record: Record) -> Recovery:
    return Recovery(name=record.name, run_id=None, outcome=RecoveryOutcome.CLEAN, reason="no run is in progress")


def _still_running(name: str, run: Run) -> Refused:
    return Refused(
        "already_running",
        f"{name} is being refreshed by {run.holder}: run {run.run_id}",
        next=f"Wait for it, or stop it and abandon its run: `airflow-refresh abandon {name} --stop`.",
    )


def _not_continued(ports: Ports, record: Record, run_id: str) -> Recovery:
    """The run was abandoned or has ended, or another process took it over first."""
    now = ports.store.read(record.name).record
    if now is not None and now.run is not None and now.run.run_id == run_id:
        return Recovery(
            name=record.name, run_id=run_id, outcome=RecoveryOutcome.LIVE, reason="another owner has just taken it over"
        )
    ended = next((entry for entry in history(ports, record.name) if entry.run_id == run_id), None)
    succeeded = ended is not None and ended.outcome is Outcome.SUCCEEDED
    return Recovery(
        name=record.name,
        run_id=run_id,
        outcome=RecoveryOutcome.PUBLISHED if succeeded else RecoveryOutcome.ABANDONED,
        reason=(ended and ended.reason) or "the run has ended",
    )
