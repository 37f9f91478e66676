"""A definition whose run is held by another owner: whether to wait for it, and what the caller gets."""

from __future__ import annotations

from datetime import datetime

from airflow_refresh_provider.core.run.owner import BEAT_EVERY, Liveness
from airflow_refresh_provider.core.run.record import Record, Run
from airflow_refresh_provider.core.run.recovery import Admission, admit
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.steering import Act, request_of
from airflow_refresh_provider.core.run.suspension import check_not_paused, check_not_suspended
from airflow_refresh_provider.core.text.wording import counted
from airflow_refresh_provider.errors import ALREADY_RUNNING, Refused
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.runner.facts.records import beats, being_dropped, owner_liveness, registered


def may_end_soon(ports: Ports, name: str, run: Run, liveness: Liveness) -> bool:
    """Whether waiting may help: a live owner gave no recent sign of life, or its origin was deleted.

    Airflow stops the tasks of a DAG run that was deleted a moment ago.
    """
    if liveness is Liveness.ORPHANED:
        return True
    lease = run.lease
    if lease.parked_until is not None:
        return False
    last = max((lease.taken_at, *(b.at for b in beats(ports, name, run))))
    return ports.clock.now() - last > 1.5 * BEAT_EVERY


def in_the_way(ports: Ports, name: str, stored: Record | None) -> Run | None:
    """The run that a refresh would have to wait for that starts now, as the stored record says.

    Raises what it would raise otherwise: Invalid, Refused, Paused.
    """
    record = registered(ports, name, stored)
    check_not_paused(record)
    admission = admit(record, owner_liveness(ports, record), ports.clock.now())
    if admission is Admission.RESETTING:
        raise being_dropped(name)
    if admission is Admission.START:
        check_not_suspended(record)
    return record.run if admission is Admission.BUSY else None


def request_for(ports: Ports, name: str, run_id: str, act: Act) -> Request:
    """The refresh that recovers a run or takes it over. Raises Invalid, and Refused where the race was lost."""
    record = registered(ports, name, ports.store.read(name).record)
    return request_of(act, record, run_id, owner_liveness(ports, record), ports.clock.now())


def already_running(record: Record, run: Run, now: datetime) -> Refused:
    """The error of a caller that may not take the run."""
    chunks = sum(len(u.chunks) for r in run.frozen.rounds for u in r.units) if run.frozen else None
    how_far = f"{counted(chunks, 'chunk')} planned" if chunks is not None else "staging is being filled"
    wait = f"Wait for it (`airflow-refresh progress {record.name} --follow`)"
    take = f"`airflow-refresh run {record.name} --take-over`"
    queue = '`--if-running queue` (for a DAG run the configuration `{"if_running": "queue"}`) or `skip`'
    kept, advice = "", f"{wait}, or pass {queue}. If its owner hangs, take the run over: {take}."
    if until := run.kept_until(now):
        kept = f"; it is reserved for the tasks of that DAG run until {until:%Y-%m-%d %H:%M:%S} UTC"
        advice = (
            f"{wait}. If its DAG is paused, unpause it. If its Airflow is gone, take the run over: {take}. "
            "After that time any caller may resume the run."
        )
    return Refused(
        ALREADY_RUNNING,
        f"{record.name} is being refreshed by {run.holder}: run {run.run_id}, generation {run.generation}, "
        f"{record.state.value}, {how_far}{kept}",
        next=advice,
    )
