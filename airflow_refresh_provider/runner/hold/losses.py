"""The errors of a process that no longer holds its run, or whose definition was dropped meanwhile."""

from __future__ import annotations

from airflow_refresh_provider.core.run.cancelling import check_not_cancelled, why_cancelled
from airflow_refresh_provider.core.run.lifecycle import State
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.core.run.results import Outcome
from airflow_refresh_provider.errors import Lost
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.runner.facts.ended_runs import ended_run


def lost(ports: Ports, name: str, run_id: str) -> Lost:
    """The error of an owner that was replaced, or whose run was cancelled or abandoned, or its definition dropped."""
    run, record = f"run {run_id} of {name}", ports.store.read(name).record
    return (
        _dropped(record, name, run)
        or (record and why_cancelled(record, run_id))
        or _abandoned(ports, record, name, run_id)
        or Lost(
            "lost_lease",
            f"{run} is no longer held here: another owner has taken it over",
            left="Everything committed so far stays; the new owner continues after it, or abandons the run.",
            next=f"See what has become of it with `airflow-refresh show {name}`.",
        )
    )


def _abandoned(ports: Ports, record: Record | None, name: str, run_id: str) -> Lost | None:
    """The error of an owner whose run is gone, and was not published."""
    if record is None or (record.run is not None and record.run.run_id == run_id):
        return None
    end = ended_run(ports, name, run_id)
    if end is None or end.outcome is not Outcome.ABANDONED:
        return None
    return Lost(
        "abandoned",
        f"run {run_id} of {name} was abandoned: {end.reason}",
        left="What it has committed stays in the target; nothing of it is published, and no other owner continues it.",
        next=f"`airflow-refresh run {name}` starts a new run, which compares everything.",
    )


def run_ended(ports: Ports, name: str, origin: str | None) -> Lost:
    """The error of a task whose origin has no run any more, or no run with work for this task. Raises Cancelled."""
    run, record = f"the run of {name} for {(origin or 'no origin').strip()}", ports.store.read(name).record
    if found := _dropped(record, name, run):
        return found
    if record is not None:
        check_not_cancelled(record, origin)
    return Lost(
        "run_ended",
        f"this task has nothing left to do: {run} has finished or was abandoned, released or taken over",
        left="Everything committed so far stays; nothing was changed here.",
        next="Clear the tasks of the DAG run from `start` on, or trigger a new one. "
        f"`airflow-refresh history {name}` shows how runs have ended.",
    )


def _dropped(record: Record | None, name: str, run: str) -> Lost | None:
    if record is None or not (record.dropped or record.state is State.RESETTING):
        return None
    return Lost(
        "dropped",
        f"{run} was stopped: the definition has been dropped",
        left="Everything committed so far stays in the target, unless that was deleted; nothing more is written.",
        next=f"The run cannot be resumed. To refresh {name} again, register it again.",
    )
