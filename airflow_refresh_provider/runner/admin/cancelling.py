"""Cancelling the run in progress: control tables alone decide, and its owner interrupts its statement by itself.

The request is one write that takes the run from its owner. A commit that is under way meanwhile may still get in.
"""

from __future__ import annotations

from airflow_refresh_provider.core.run import cancelling
from airflow_refresh_provider.core.run.admin_results import Recovery, RecoveryOutcome
from airflow_refresh_provider.core.run.cancellation import CODE, Cancellation
from airflow_refresh_provider.core.run.lifecycle import Event, State
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.core.run.results import Outcome
from airflow_refresh_provider.errors import RefreshError
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.runner.admin import recovering
from airflow_refresh_provider.runner.facts.ended_runs import ended_run
from airflow_refresh_provider.runner.facts.records import being_dropped, registered
from airflow_refresh_provider.runner.hold import run_ends
from airflow_refresh_provider.runner.hold.control_writes import Change, change
from airflow_refresh_provider.runner.hold.run_sessions import sessions_of
from airflow_refresh_provider.runner.report import reports


def request_cancel(ports: Ports, name: str, run_id: str | None, *, abandon: bool, by: str | None) -> Recovery:
    """Cancel the run in progress, or the one of an id. Needs no Spark.

    Its owner interrupts its statement within seconds. `abandon`: that owner, or the next, abandons it. `by` is who
    cancels, by default this process. Raises Invalid for a definition or run that there is none of, Refused where the
    run has ended meanwhile.
    """
    if run_id is not None:
        _check_known(ports, name, run_id)
    meant = run_id
    wanted = Cancellation(by=by or ports.processes.this().label, at=ports.clock.now(), abandon=abandon)

    def decide(stored: Record | None) -> Change:
        nonlocal meant
        record = registered(ports, name, stored)
        if record.state is State.RESETTING:
            raise being_dropped(name)
        run = cancelling.run_to_cancel(record, meant)
        meant = run.run_id  # a run that is started after this look is another one
        if cancelling.is_cancelled(run, abandon=abandon):
            return Change(None, record)
        return Change(Event.CANCEL, cancelling.cancelled(record, run, wanted, sessions_of(run)))

    before, after = change(ports, name, decide)
    run = after.run
    assert run is not None and run.cancelled is not None
    reason = f"{run.cancelled.text}; {run.cancelled.then}"
    if before != after:
        run_ends.record_end(ports, name, run, run.generation, Outcome.CANCELLED, reason)
    return Recovery(name=name, run_id=run.run_id, outcome=RecoveryOutcome.CANCELLED, reason=reason)


def _check_known(ports: Ports, name: str, run_id: str) -> None:
    record = registered(ports, name, ports.store.read(name).record)
    recent = (one.run_id for one in (record.run, record.last_run) if one)
    if run_id not in recent and ended_run(ports, name, run_id) is None:
        raise reports.unknown_run(name, run_id)


def cancel(ports: Ports, name: str, run_id: str | None, *, abandon: bool, by: str | None) -> Recovery:
    """As `request_cancel`. With `abandon` the run is abandoned at once, which needs Spark once chunks are planned.

    Where that fails the request stays, and the next run abandons it.
    """
    found = request_cancel(ports, name, run_id, abandon=abandon, by=by)
    if not abandon or found.run_id is None:
        return found
    try:
        return recovering.end_cancelled(ports, name, found.run_id)
    except RefreshError as error:
        why = "" if error.code == CODE else f": {error.message}"
        return found.model_copy(update={"reason": f"{found.reason}; it is not abandoned yet{why}"})
