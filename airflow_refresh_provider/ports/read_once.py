"""The ports as one view sees them: what is asked again of a log, an input or the control tables is not read again.

So all parts of a page are about one moment, and a page costs one look at each table, however many parts it has. A view
is used for a moment and thrown away; writes go through it as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import Any, TypeVar

from airflow_refresh_provider.core.changes.history import InputHistory
from airflow_refresh_provider.core.changes.sources import ChangedRows, ChangeSource
from airflow_refresh_provider.core.definition.inputs import Input
from airflow_refresh_provider.core.run.lifecycle import Event
from airflow_refresh_provider.core.run.owner import Beat
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.control import ControlStore, EventRow, ProgressRow, Snapshot
from airflow_refresh_provider.ports.input_kind import InputKind
from airflow_refresh_provider.ports.table_log import TableLog

T = TypeVar("T")


def reading_once(ports: Ports) -> Ports:
    """The ports of one view."""
    kinds = {name: _Kind(kind) for name, kind in ports.inputs.items()}
    return replace(ports, store=_Store(ports.store), log=_Log(ports.log), inputs=kinds)


class _Log:
    def __init__(self, log: TableLog) -> None:
        self.facts = cache(log.facts)
        self.identity = cache(log.identity)
        self.newest = cache(log.newest)
        self.oldest = cache(log.oldest)
        self.readable_until = cache(log.readable_until)
        self.markers = cache(log.markers)
        self.commits = cache(log.commits)


class _Kind:
    def __init__(self, kind: InputKind[Any]) -> None:
        self._kind = kind
        self._read: dict[Hashable, Any] = {}

    def pin(self, name: str, input: Input) -> Any:
        return self._once(("pin", name, input.model_dump_json()), lambda: self._kind.pin(name, input))

    def unreadable(self, pin: Any) -> str | None:
        return self._once(("unreadable", pin), lambda: self._kind.unreadable(pin))

    def rows(self, pin: Any) -> int | None:
        return self._once(("rows", pin), lambda: self._kind.rows(pin))

    def files(self, pin: Any) -> tuple[tuple[str, int], ...] | None:
        return self._once(("files", pin), lambda: self._kind.files(pin))

    def columns(self, pin: Any) -> dict[str, str]:
        return self._once(("columns", pin), lambda: self._kind.columns(pin))

    def history(self, applied: Any, newest: Any) -> InputHistory | None:
        return self._once(("history", applied, newest), lambda: self._kind.history(applied, newest))

    def changes(
        self, applied: Any, newest: Any, source: ChangeSource, folder: str, options: Mapping[str, str]
    ) -> ChangedRows:
        return self._kind.changes(applied, newest, source, folder, options)

    def watch(self, input: Input) -> Callable[[], str]:
        return self._kind.watch(input)

    def _once(self, question: Hashable, read: Callable[[], T]) -> T:
        if question not in self._read:
            self._read[question] = read()
        found: T = self._read[question]
        return found


class _Store:
    def __init__(self, store: ControlStore) -> None:
        self._store = store
        self.read = cache(store.read)
        self.records = cache(store.records)
        self.beats = cache(store.beats)
        self._progress: dict[str, list[ProgressRow]] = {}
        self.events = cache(store.events)

    @property
    def control_id(self) -> str:
        return self._store.control_id

    @property
    def root(self) -> str:
        return self._store.root

    @property
    def exists(self) -> bool:
        return self._store.exists

    def commit(self, snapshot: Snapshot, record: Record, event: Event, at: datetime) -> Snapshot:
        return self._store.commit(snapshot, record, event, at)

    def beat(self, name: str, run_id: str, unit: int | None, beat: Beat) -> None:
        self._store.beat(name, run_id, unit, beat)

    def clear_beats(self, name: str, run_id: str) -> None:
        self._store.clear_beats(name, run_id)

    def add_progress(self, rows: Iterable[ProgressRow]) -> None:
        self._store.add_progress(rows)

    def progress(self, name: str, run_id: str) -> list[ProgressRow]:
        if run_id not in self._progress:
            self._progress[run_id] = self._store.progress(name, run_id)
        return self._progress[run_id]

    def progress_of(self, run_ids: Collection[str]) -> dict[str, list[ProgressRow]]:
        missing = [run_id for run_id in run_ids if run_id not in self._progress]
        found = self._store.progress_of(missing) if missing else {}
        self._progress |= {run_id: found.get(run_id, []) for run_id in missing}
        return {run_id: rows for run_id in run_ids if (rows := self._progress[run_id])}

    def add_event(self, row: EventRow) -> None:
        self._store.add_event(row)

    def compact(self) -> None:
        self._store.compact()
