"""The control store in memory: the same promises as the stored one, for tests and for trying things out."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from airflow_refresh_provider.core.run.lifecycle import Event
from airflow_refresh_provider.core.run.owner import Beat
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.errors import StaleSnapshot
from airflow_refresh_provider.ports.control import AddedUp, EventRow, ProgressRow, Snapshot


@dataclass(frozen=True)
class MemorySnapshot:
    """One definition as read, and how many writes it had seen."""

    name: str
    record: Record | None
    seq: int


class MemoryControlStore:
    """Control tables that live as long as this object. Safe between threads."""

    def __init__(self, control_id: str = "memory", root: str = "/memory") -> None:
        self._control_id = control_id
        self._root = root
        self._lock = threading.Lock()
        self._newest: dict[str, MemorySnapshot] = {}
        self._beats: dict[tuple[str, str], dict[int | None, Beat]] = {}
        self._progress: list[ProgressRow] = []
        self._events: list[EventRow] = []

    @property
    def control_id(self) -> str:
        """Identity, as given."""
        return self._control_id

    @property
    def root(self) -> str:
        """A name for messages; nothing is there."""
        return self._root

    @property
    def exists(self) -> bool:
        """As a stored one: once something was put there."""
        return bool(self._newest or self._progress or self._events)

    def read(self, name: str) -> Snapshot:
        """One definition as it is now."""
        return self._newest.get(name, MemorySnapshot(name, None, 0))

    def commit(self, snapshot: Snapshot, record: Record, event: Event, at: datetime) -> Snapshot:
        """Store the next record. Raises StaleSnapshot when another write came first."""
        assert isinstance(snapshot, MemorySnapshot)
        with self._lock:
            if self._newest.get(snapshot.name, MemorySnapshot(snapshot.name, None, 0)).seq != snapshot.seq:
                raise StaleSnapshot
            fresh = MemorySnapshot(snapshot.name, record, snapshot.seq + 1)
            self._newest[snapshot.name] = fresh
        return fresh

    def records(self) -> list[Record]:
        """The newest record of every definition, dropped ones left out, by name."""
        with self._lock:
            newest = [self._newest[name].record for name in sorted(self._newest)]
        return [r for r in newest if r is not None and not r.dropped]

    def beat(self, name: str, run_id: str, unit: int | None, beat: Beat) -> None:
        """A sign of life."""
        with self._lock:
            self._beats.setdefault((name, run_id), {})[unit] = beat

    def beats(self, name: str, run_id: str) -> tuple[Beat, ...]:
        """The last signs of life of a run and its units."""
        with self._lock:
            return tuple(self._beats.get((name, run_id), {}).values())

    def clear_beats(self, name: str, run_id: str) -> None:
        """Remove the beats of a run."""
        with self._lock:
            self._beats.pop((name, run_id), None)

    def add_progress(self, rows: Iterable[ProgressRow]) -> None:
        """Append rows."""
        with self._lock:
            self._progress.extend(rows)

    def progress(self, name: str, run_id: str) -> list[ProgressRow]:
        """All rows of a run, oldest first."""
        with self._lock:
            found = [row for row in self._progress if (row.name, row.run_id) == (name, run_id)]
        return sorted(found, key=lambda r: (r.at, r.generation, r.chunk))

    def progress_of(self, run_ids: Collection[str]) -> dict[str, list[ProgressRow]]:
        """As `progress`, of several runs, by run."""
        with self._lock:
            found = {row.run_id: row.name for row in self._progress if row.run_id in run_ids}
        return {run_id: self.progress(name, run_id) for run_id, name in found.items()}

    def add_event(self, row: EventRow) -> None:
        """Append one event."""
        with self._lock:
            self._events.append(row)

    def events(self, name: str) -> list[EventRow]:
        """Oldest first."""
        with self._lock:
            return sorted((row for row in self._events if row.name == name), key=lambda row: row.at)

    def newest_events(self, name: str, count: int) -> list[EventRow]:
        """As `events`, of each kind at most so many, the newest, without their figures."""
        kinds: dict[str, list[EventRow]] = {}
        for row in self.events(name):
            kept = row.model_dump(include={"name", "run_id", "event", "generation", "at", "detail"})
            kinds.setdefault(row.event, []).append(EventRow.model_validate(kept))
        return sorted((row for rows in kinds.values() for row in rows[-count:]), key=lambda row: row.at)

    def events_of_run(self, name: str, run_id: str) -> list[EventRow]:
        """As `events`, those of one run."""
        return [row for row in self.events(name) if row.run_id == run_id]

    def costs_since(self, event: str, names: Collection[str], since: datetime) -> AddedUp:
        """Nothing is added up here: the ends of all runs."""
        with self._lock:
            found = [row for row in self._events if row.event == event and row.name in names and row.at >= since]
        return AddedUp(others=tuple(sorted(found, key=lambda row: row.at)))

    def compact(self) -> None:
        """Nothing to do."""
