"""Pausing a definition, suspending it, and letting it go on. What is being committed meanwhile is still committed.

A pause is a wish for the moment and stops a refresh before its next chunk. A suspension has a reason, and only keeps
refreshes from beginning.

All raise Invalid for an unknown name, Refused for a definition that is being dropped.
"""

from __future__ import annotations

from typing import Any

from airflow_refresh_provider.core.run.lifecycle import Event, State
from airflow_refresh_provider.core.run.reports import DefinitionStatus
from airflow_refresh_provider.errors import StaleSnapshot
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.runner.admin.registry import status
from airflow_refresh_provider.runner.facts.records import being_dropped, registered
from airflow_refresh_provider.runner.hold.tenure import WRITE_TRIES, commit, contended


def pause(ports: Ports, name: str) -> DefinitionStatus:
    """Let the definition rest from its next chunk on."""
    return _change(ports, name, Event.PAUSE, {"paused": True})


def suspend(ports: Ports, name: str, why: str) -> DefinitionStatus:
    """Keep refreshes of the definition from beginning."""
    return _change(ports, name, Event.SUSPEND, {"suspended": why})


def resume(ports: Ports, name: str) -> DefinitionStatus:
    """Let the definition be refreshed again, whatever kept it."""
    return _change(ports, name, Event.RESUME, {"paused": False, "suspended": None, "failures": 0})


def _change(ports: Ports, name: str, event: Event, fields: dict[str, Any]) -> DefinitionStatus:
    for _ in range(WRITE_TRIES):
        snapshot = ports.store.read(name)
        record = registered(ports, name, snapshot.record)
        if record == record.model_copy(update=fields):
            return status(ports, record)
        if record.state is State.RESETTING:
            raise being_dropped(name)
        changed = record.after(event, **fields)
        try:
            commit(ports, snapshot, changed, event)
        except StaleSnapshot:
            continue
        return status(ports, changed)
    raise contended(name)
