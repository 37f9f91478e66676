"""The compare-and-set on a definition's stored record: read, decide, write, and again if another write came first."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from airflow_refresh_provider.core.run.lifecycle import Event
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.errors import Retry, StaleSnapshot
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.control import Snapshot

WRITE_TRIES = 50


class Change(NamedTuple):
    """The record to store and the event that leads to it; without an event nothing is stored."""

    event: Event | None
    record: Record


class Changed(NamedTuple):
    """A record before and after a change."""

    before: Record | None
    after: Record


def change(ports: Ports, name: str, decide: Callable[[Record | None], Change]) -> Changed:
    """Store what `decide` makes of the record as it is now. `decide` is called again after each lost write.

    Raises what `decide` raises, Retry when too many writes were lost.
    """
    for _ in range(WRITE_TRIES):
        snapshot = ports.store.read(name)
        event, record = decide(snapshot.record)
        if event is not None:
            try:
                commit(ports, snapshot, record, event)
            except StaleSnapshot:
                continue
        return Changed(snapshot.record, record)
    raise contended(name)


def commit(ports: Ports, snapshot: Snapshot, record: Record, event: Event) -> Snapshot:
    """Store one transition, once. Raises StaleSnapshot."""
    return ports.store.commit(snapshot, record, event, ports.clock.now())


def contended(name: str) -> Retry:
    """The error of a process whose writes always came second."""
    return Retry(
        "control_contended",
        f"writes to the control tables of {name} conflicted with those of other processes in {WRITE_TRIES} attempts",
        left="The run keeps all chunks that it has committed.",
        next="Run again; the refresh continues after its last commit.",
    )
