"""Recovery: find interrupted runs and finish or abandon them, each with a recorded reason."""

from __future__ import annotations

from airflow_refresh_provider.core.run.admin_results import Recovery, RecoveryOutcome
from airflow_refresh_provider.core.run.lifecycle import State
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.core.run.recovery import Admission, Step, admit
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import ErrorReport
from airflow_refresh_provider.errors import RefreshError
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.runner.facts import staging_paths
from airflow_refresh_provider.runner.facts.records import owner_liveness, registered
from airflow_refresh_provider.runner.facts.stopwatch import Stopwatch
from airflow_refresh_provider.runner.hold.takeover import take_over
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
        return Recovery(name=record.name, run_id=None, outcome=RecoveryOutcome.CLEAN, reason="no run is in progress")
    if record.paused:
        return Recovery(name=record.name, run_id=run.run_id, outcome=RecoveryOutcome.PAUSED, reason="it is paused")
    liveness = owner_liveness(ports, record)
    if admit(record, liveness, ports.clock.now()) is not Admission.TAKE_OVER:
        reason = "a live owner holds the run" if liveness.is_running else "the run is between tasks"
        return Recovery(name=record.name, run_id=run.run_id, outcome=RecoveryOutcome.LIVE, reason=reason)
    watch = Stopwatch(ports.clock)
    held = take_over(ports, snapshot, record, run, Request())
    if held is None or held.decision is None:
        return _not_continued(ports, record, run.run_id)
    result = continue_run(held, Request(), watch, held.decision.step)
    return Recovery(
        name=record.name,
        run_id=run.run_id,
        outcome=_DONE[held.decision.step],
        reason=held.decision.reason,
        result=result,
    )


def _not_continued(ports: Ports, record: Record, run_id: str) -> Recovery:
    """The run was abandoned, or another process took it over first."""
    now = ports.store.read(record.name).record
    if now is not None and now.run is not None and now.run.run_id == run_id:
        return Recovery(
            name=record.name, run_id=run_id, outcome=RecoveryOutcome.LIVE, reason="another owner has just taken it over"
        )
    return Recovery(
        name=record.name, run_id=run_id, outcome=RecoveryOutcome.ABANDONED, reason=_reason(ports, record.name, run_id)
    )


def _reason(ports: Ports, name: str, run_id: str) -> str:
    from airflow_refresh_provider.runner.report.reports import history

    return next((e.reason for e in history(ports, name) if e.run_id == run_id and e.reason), "the run has ended")
