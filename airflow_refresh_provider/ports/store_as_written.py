"""The control store as the runner uses it: values of variables in places of inputs never reach the stored one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from airflow_refresh_provider.core.run.as_written import as_located, as_written
from airflow_refresh_provider.core.run.lifecycle import Event
from airflow_refresh_provider.core.run.owner import Beat
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.ports.control import ControlStore, EventRow, ProgressRow, Snapshot


@dataclass(frozen=True)
class _Located:
    """A snapshot whose record has its places filled in."""

    stored: Snapshot
    record: Record | None


class StoreAsWritten:
    """A control store over another one, which gets records with places as they are written."""

    def __init__(self, store: ControlStore, environment: Mapping[str, str]) -> None:
        self._store = store
        self._environment = environment

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
        """The record with its places filled in."""
        return self._located(self._store.read(name))

    def commit(self, snapshot: Snapshot, record: Record, event: Event, at: datetime) -> Snapshot:
        """Store the record as it is written. Raises StaleSnapshot."""
        assert isinstance(snapshot, _Located)
        return self._located(self._store.commit(snapshot.stored, as_written(record), event, at))

    def records(self) -> list[Record]:
        """All records with their places filled in."""
        return [as_located(record, self._environment) for record in self._store.records()]

    def beat(self, name: str, run_id: str, unit: int | None, beat: Beat) -> None:
        """As stored."""
        self._store.beat(name, run_id, unit, beat)

    def beats(self, name: str, run_id: str) -> tuple[Beat, ...]:
        """As stored."""
        return self._store.beats(name, run_id)

    def clear_beats(self, name: str, run_id: str) -> None:
        """As stored."""
        self._store.clear_beats(name, run_id)

    def add_progress(self, rows: Iterable[ProgressRow]) -> None:
        """As stored."""
        self._store.add_progress(rows)

    def progress(self, name: str, run_id: str) -> list[ProgressRow]:
        """As stored."""
        return self._store.progress(name, run_id)

    def progress_of(self, run_ids: Collection[str]) -> dict[str, list[ProgressRow]]:
        """As stored."""
        return self._store.progress_of(run_ids)

    def add_event(self, row: EventRow) -> None:
        """As stored."""
        self._store.add_event(row)

    def events(self, name: str) -> list[EventRow]:
        """As stored."""
        return self._store.events(name)

    def compact(self) -> None:
        """As stored."""
        self._store.compact()

    def _located(self, snapshot: Snapshot) -> _Located:
        record = snapshot.record
        return _Located(snapshot, as_located(record, self._environment) if record else None)
