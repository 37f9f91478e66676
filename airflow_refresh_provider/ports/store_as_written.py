"""The control store as the runner uses it: values of variables in places of inputs never reach the stored one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from airflow_refresh_provider.core.run.as_written import as_located, as_written
from airflow_refresh_provider.core.run.lifecycle import Event
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.ports.control import ControlStore, Snapshot
from airflow_refresh_provider.ports.store_over import StoreOver


@dataclass(frozen=True)
class _Located:
    """A snapshot whose record has its places filled in."""

    stored: Snapshot
    record: Record | None


class StoreAsWritten(StoreOver):
    """A control store over another one, which gets records with places as they are written."""

    def __init__(self, store: ControlStore, environment: Mapping[str, str]) -> None:
        super().__init__(store)
        self._environment = environment
        self._known: dict[str, tuple[Record, Record]] = {}

    def read(self, name: str) -> Snapshot:
        """The record with its places filled in."""
        return self._located(super().read(name))

    def commit(self, snapshot: Snapshot, record: Record, event: Event, at: datetime) -> Snapshot:
        """Store the record as it is written. Raises StaleSnapshot."""
        assert isinstance(snapshot, _Located)
        return self._located(super().commit(snapshot.stored, as_written(record), event, at))

    def records(self) -> list[Record]:
        """All records with their places filled in."""
        return [self._as_located(record) for record in super().records()]

    def _as_located(self, record: Record) -> Record:
        """The same object for the same object: pages ask for a thousand records that are as they were."""
        known = self._known.get(record.name)
        if known is None or known[0] is not record:
            known = self._known[record.name] = record, as_located(record, self._environment)
        return known[1]

    def _located(self, snapshot: Snapshot) -> _Located:
        record = snapshot.record
        return _Located(snapshot, as_located(record, self._environment) if record else None)
