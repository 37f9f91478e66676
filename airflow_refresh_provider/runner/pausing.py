"""Pausing a definition and letting it go on. What is being committed when the wish comes is still committed."""

from __future__ import annotations

from airflow_refresh_provider.core.lifecycle import Event
from airflow_refresh_provider.core.results import DefinitionStatus
from airflow_refresh_provider.errors import StaleSnapshot
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.runner.registry import status
from airflow_refresh_provider.runner.start import known
from airflow_refresh_provider.runner.tenure import WRITE_TRIES, commit, contended


def pause(ports: Ports, name: str) -> DefinitionStatus:
    """Let the definition rest from its next chunk on. Raises Invalid for an unknown name."""
    return _wish(ports, name, Event.PAUSE)


def resume(ports: Ports, name: str) -> DefinitionStatus:
    """Let the definition be refreshed again. Raises Invalid for an unknown name."""
    return _wish(ports, name, Event.RESUME)


def _wish(ports: Ports, name: str, event: Event) -> DefinitionStatus:
    paused = event is Event.PAUSE
    for _ in range(WRITE_TRIES):
        snapshot = ports.store.read(name)
        record = known(name, snapshot.record)
        if record.paused == paused:
            return status(ports, record)
        wished = record.after(event, paused=paused)
        try:
            commit(ports, snapshot, wished, event)
        except StaleSnapshot:
            continue
        return status(ports, wished)
    raise contended(name)
