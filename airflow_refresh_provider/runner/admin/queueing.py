"""The queue of a definition: requests are listed, added, removed, and refreshed one after the other in one process."""

from __future__ import annotations

from datetime import timedelta

from airflow_refresh_provider.core.run.lifecycle import Event, State
from airflow_refresh_provider.core.run.queue import MOST_WAITING, Placed, Queue, Unqueued, WaitingRequest, without
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.core.run.request import IfRunning, Request, Serves
from airflow_refresh_provider.core.run.results import Outcome, RefreshStep
from airflow_refresh_provider.errors import RefreshError, Refused, StaleSnapshot
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.runner.facts.records import being_dropped, registered
from airflow_refresh_provider.runner.hold.control_writes import WRITE_TRIES, Change, change, contended
from airflow_refresh_provider.runner.report.reports import history
from airflow_refresh_provider.runner.steps.busy import in_the_way
from airflow_refresh_provider.runner.steps.one_process import refresh
from airflow_refresh_provider.runner.steps.queueing import enqueue

LONGEST_WAIT = timedelta(hours=24)
"""For the run in progress to end; what waits in the queue stays there."""

_POLL_SECONDS = 2.0
_ENDED_WELL = (Outcome.SUCCEEDED, Outcome.NOTHING_TO_DO)


def waiting(ports: Ports, name: str | None) -> list[WaitingRequest]:
    """The requests that wait, of one definition or of all, the next one first."""
    records = ports.store.records() if name is None else [registered(ports, name, ports.store.read(name).record)]
    return [
        WaitingRequest(name=record.name, place=place, **dict(one))
        for record in records
        for place, one in enumerate(record.queue, 1)
    ]


def add(ports: Ports, name: str, request: Request, by: str) -> Placed | None:
    """Let a request wait for the run in progress; None where none is in the way of a refresh.

    Raises Invalid for an unknown name, Refused where too many wait, and where no refresh may start, Paused.
    """
    for _ in range(WRITE_TRIES):
        snapshot = ports.store.read(name)
        if in_the_way(ports, name, snapshot.record) is None:
            return None
        try:
            return enqueue(ports, snapshot, registered(ports, name, snapshot.record), request, by)
        except StaleSnapshot:
            continue
    raise contended(name)


def remove(ports: Ports, name: str, request_id: str) -> Unqueued:
    """Remove a request from the queue. Raises Invalid for an unknown name, Refused where it does not wait any more."""

    def decide(stored: Record | None) -> Change:
        record = registered(ports, name, stored)
        if record.state is State.RESETTING:
            raise being_dropped(name)
        left = without(record.queue, (request_id,))
        if left == record.queue:
            raise _not_waiting(ports, record, request_id)
        return Change(Event.UNQUEUE, record.after(Event.UNQUEUE, queue=left))

    before, after = change(ports, name, decide)
    request = next(one for one in registered(ports, name, before).queue if one.id == request_id)
    return Unqueued(name=name, request=request, waiting=len(after.queue))


def run_waiting(ports: Ports, name: str, workers: int, *, wait: bool) -> list[RefreshStep]:
    """Refresh for the requests that wait, one after the other, an interrupted run first.

    `wait`: until no other owner holds the run, for 24 hours at most. It ends when none waits, after as many as may, and
    with a run that is kept because it failed, was cancelled, or has spent its budget. The error of a refresh is in its
    step.
    """
    one = Request(workers=workers, waiting=Serves.ONLY, if_running=IfRunning.SKIP)
    deadline = ports.clock.now() + LONGEST_WAIT
    steps: list[RefreshStep] = []
    while (queue := _ready(ports, name)) and len(steps) < MOST_WAITING:
        step = _step(ports, name, one)
        if step.outcome is Outcome.SKIPPED:
            if not wait or ports.clock.now() >= deadline:
                break
            ports.clock.sleep(_POLL_SECONDS)
            continue
        steps.append(step)
        if step.outcome not in _ENDED_WELL and not _went_on(ports, name, queue):
            break
    return steps


def _ready(ports: Ports, name: str) -> Queue:
    """What waits, unless the run in progress has stopped for a reason that keeps everything waiting."""
    record = _record(ports, name)
    stopped = record.run is not None and (record.run.stopped or record.run.cancelled)
    return () if stopped else record.queue


def _went_on(ports: Ports, name: str, before: Queue) -> bool:
    """Whether a refresh that failed has left its place to the next request."""
    record = _record(ports, name)
    return record.run is None and len(record.queue) < len(before)


def _step(ports: Ports, name: str, request: Request) -> RefreshStep:
    try:
        return RefreshStep.of(name, refresh(ports, name, request))
    except RefreshError as error:
        return RefreshStep.of(name, error)


def _record(ports: Ports, name: str) -> Record:
    return registered(ports, name, ports.store.read(name).record)


def _not_waiting(ports: Ports, record: Record, request_id: str) -> Refused:
    """The error for a request that is not in the queue: what has become of it."""
    name, run = record.name, record.run
    ended = next((entry for entry in history(ports, name) if request_id in entry.requests), None)
    if run is not None and request_id in run.requests:
        why = f"request {request_id} of {name} waits no longer: run {run.run_id} was started for it"
        return Refused("not_waiting", why, next=f"End it with `airflow-refresh cancel {name} --run {run.run_id}`.")
    if ended is not None:
        why = f"request {request_id} of {name} waits no longer: run {ended.run_id} was started for it and is over"
        return Refused("not_waiting", f"{why}: {ended.outcome}", next="Nothing is left to remove.")
    why = f"no request {request_id} of {name} waits: it was removed, needed no run, or was never made"
    return Refused("not_waiting", why, next=f"See those that wait with `airflow-refresh queue {name}`.")
