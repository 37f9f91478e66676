"""A control store over another one, to be another in some of its methods."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from airflow_refresh_provider.core.run.lifecycle import Event
from airflow_refresh_provider.core.run.owner import Beat
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.ports.control import AddedUp, ControlStore, EventRow, ProgressRow, Snapshot


class StoreOver:
    """Passes everything on."""

    def __init__(self, store: ControlStore) -> None:
        self._store = store

    @property
    def control_id(self) -> str:
        """As stored."""
        return self._store.control_id

    @property
    def root(self) -> str:
        """As stored."""
        return self._store.root

    @property
    def exists(self) -> bool:
        """As stored."""
        return self._store.exists

    def read(self, name: str) -> Snapshot:
        """As stored."""
        return self._store.read(name)

    def commit(self, snapshot: Snapshot, record: Record, event: Event, at: datetime) -> Snapshot:
        """As given. Raises StaleSnapshot."""
        return self._store.commit(snapshot, record, event, at)

    def records(self) -> list[Record]:
        """As stored."""
        return self._store.records()

    def beat(self, name: str, run_id: str, unit: int | None, beat: Beat) -> None:
        """As given."""
        self._store.beat(name, run_id, unit, beat)

    def beats(self, name: str, run_id: str) -> tuple[Beat, ...]:
        """As stored."""
        return self._store.beats(name, run_id)

    def clear_beats(self, name: str, run_id: str) -> None:
        """As stored."""
        self._store.clear_beats(name, run_id)

    def add_progress(self, rows: Iterable[ProgressRow]) -> None:
        """As given."""
        self._store.add_progress(rows)

    def progress(self, name: str, run_id: str) -> list[ProgressRow]:
        """As stored."""
        return self._store.progress(name, run_id)

    def progress_of(self, run_ids: Collection[str]) -> dict[str, list[ProgressRow]]:
        """As stored."""
        return self._store.progress_of(run_ids)

    def add_event(self, row: EventRow) -> None:
        """As given."""
        self._store.add_event(row)

    def events(self, name: str) -> list[EventRow]:
        """As stored."""
        return self._store.events(name)

    def newest_events(self, name: str, count: int) -> list[EventRow]:
        """As stored."""
        return self._store.newest_events(name, count)

    def events_of_run(self, name: str, run_id: str) -> list[EventRow]:
        """As stored."""
        return self._store.events_of_run(name, run_id)

    def costs_since(self, event: str, names: Collection[str], since: datetime) -> AddedUp:
        """As stored."""
        return self._store.costs_since(event, names, since)

    def compact(self) -> None:
        """As stored."""
        self._store.compact()
