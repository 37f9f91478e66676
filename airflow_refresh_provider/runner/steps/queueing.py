"""Requests into and out of the queue of a definition, one write each. A run that starts takes its own with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from airflow_refresh_provider.core.run.last_run import LastRun
from airflow_refresh_provider.core.run.lifecycle import Event, State
from airflow_refresh_provider.core.run.queue import MOST_WAITING, Placed, QueuedOptions, QueuedRequest, placed, without
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import Outcome
from airflow_refresh_provider.core.run.suspension import counts
from airflow_refresh_provider.errors import Failed, Invalid, RefreshError, Refused
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.control import Snapshot
from airflow_refresh_provider.runner.facts.records import registered
from airflow_refresh_provider.runner.hold.control_writes import Change, change, commit


def enqueue(ports: Ports, snapshot: Snapshot, record: Record, request: Request, by: str | None = None) -> Placed:
    """Store that a request waits, unless an equal one does. `by` is who asks, by default this process.

    Raises Refused where too many wait, StaleSnapshot where the run in progress may have ended.
    """
    asked = QueuedRequest(
        id=ports.processes.new_id(),
        options=QueuedOptions.of(request),
        priority=request.priority,
        by=by or ports.processes.this().label,
        at=ports.clock.now(),
        origin=request.origin,
        scheduled=request.scheduled,
    )
    found = placed(record.queue, asked)
    if found is None:
        raise _full(record.name)
    if found.queue != record.queue:
        commit(ports, snapshot, record.after(Event.QUEUE, queue=found.queue), Event.QUEUE)
    return found


def waits(found: Placed) -> str:
    """How a request waits that was placed in the queue."""
    one, place = found.request, 1 + found.queue.index(found.request)
    where = f"number {place} of {len(found.queue)} that wait"
    if found.merged:
        return f"an equal request waits already: {one.id}, by {one.by} since {one.at:%Y-%m-%d %H:%M:%S} UTC, {where}"
    return f"it waits as request {one.id}, {where}"


@contextmanager
def removed_on_failure(ports: Ports, name: str, ids: tuple[str, ...]) -> Iterator[None]:
    """Remove requests from the queue whose run cannot be started, and store why: they would keep others waiting.

    They stay where the reason goes away by itself.
    """
    try:
        yield
    except (Invalid, Refused, Failed) as error:
        if ids and counts(error.code):
            with suppress(RefreshError):  # the caller raises the error from before
                _remove_failed(ports, name, ids, error)
        raise


def _remove_failed(ports: Ports, name: str, ids: tuple[str, ...], error: RefreshError) -> None:
    def decide(stored: Record | None) -> Change:
        record = registered(ports, name, stored)
        left = without(record.queue, ids)
        if left == record.queue or record.state is State.RESETTING:
            return Change(None, record)
        why = error.kept(redact=record.definition.redact_keys)
        last = LastRun(outcome=Outcome.of(error), at=ports.clock.now(), code=error.code, reason=why)
        return Change(Event.UNQUEUE, record.after(Event.UNQUEUE, queue=left, last_run=last))

    before, after = change(ports, name, decide)
    if before != after:
        ports.watch.note(f"request {', '.join(ids)} has left the queue: its run could not start [{error.code}]")


def _full(name: str) -> Refused:
    return Refused(
        "queue_full",
        f"{MOST_WAITING} requests wait for the run of {name} to end, which is the most that may",
        left="No request was added; those that wait keep their places.",
        next=f"See them with `airflow-refresh queue {name}`, remove one with `airflow-refresh unqueue {name} ID`, "
        "or wait.",
    )
