"""Ended runs, read from the events that say how they have ended."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import ValidationError

from airflow_refresh_provider.core.run.results import HistoryEntry, StoredHistory
from airflow_refresh_provider.errors import Invalid
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.control import EventRow

RUN_ENDED = "run_ended"


def ended_run(ports: Ports, name: str, run_id: str) -> HistoryEntry | None:
    """The entry of one run; None where it has not ended, or the history does not go back to it."""
    return next(iter(ended(ports.store.events_of_run(name, run_id))), None)


def ended(events: Iterable[EventRow]) -> list[HistoryEntry]:
    """The ended runs among events that are given oldest first, newest first."""
    return newest_first(row for row in events if row.event == RUN_ENDED)


def newest_first(rows: Iterable[EventRow]) -> list[HistoryEntry]:
    """The last entry of each run, of such events, oldest first."""
    entries: dict[tuple[str, str | None], HistoryEntry] = {}
    for row in rows:
        entries.pop((row.name, row.run_id), None)
        entries[row.name, row.run_id] = _entry(row.detail)
    return list(reversed(entries.values()))


def _entry(detail: str) -> HistoryEntry:
    try:
        return StoredHistory.model_validate_json(detail).entry
    except ValidationError:
        raise Invalid(
            "newer_control_format",
            "the history has an entry that this version of airflow-refresh-provider cannot read",
            next="Upgrade airflow-refresh-provider here.",
        ) from None
