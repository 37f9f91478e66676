"""Pausing, suspending and throttling a definition, and resuming it. A commit that is under way meanwhile still gets in.

A pause stops a refresh before its next chunk. A suspension has a reason, and only prevents new refreshes. A throttle
counts from the next chunk on.

All raise Invalid for an unknown name, Refused for a definition that is being dropped.
"""

from __future__ import annotations

from typing import Any

from airflow_refresh_provider.core.run.lifecycle import Event, State
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.core.run.reports import DefinitionStatus
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.runner.facts.records import being_dropped, registered
from airflow_refresh_provider.runner.hold.control_writes import Change, change
from airflow_refresh_provider.runner.report.statuses import status


def pause(ports: Ports, name: str) -> DefinitionStatus:
    """Pause a definition before its next chunk."""
    return _set(ports, name, Event.PAUSE, {"paused": True})


def suspend(ports: Ports, name: str, why: str) -> DefinitionStatus:
    """Start no refresh of a definition until it is resumed."""
    return _set(ports, name, Event.SUSPEND, {"suspended": why})


def resume(ports: Ports, name: str) -> DefinitionStatus:
    """End a pause or a suspension."""
    return _set(ports, name, Event.RESUME, {"paused": False, "suspended": None, "failures": 0})


def throttle(ports: Ports, name: str, rows_per_second: int | None) -> DefinitionStatus:
    """Limit the rates of runs from the next chunk on; 0 is without a limit, None as the definition says."""
    return _set(ports, name, Event.THROTTLE, {"throttle": rows_per_second})


def _set(ports: Ports, name: str, event: Event, fields: dict[str, Any]) -> DefinitionStatus:
    def decide(stored: Record | None) -> Change:
        record = registered(ports, name, stored)
        if record == record.model_copy(update=fields):
            return Change(None, record)
        if record.state is State.RESETTING:
            raise being_dropped(name)
        return Change(event, record.after(event, **fields))

    return status(ports, change(ports, name, decide).after)
