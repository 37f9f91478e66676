"""The ports as one view sees them: what is asked again of a log, an input or the control tables is not read again.

So all parts of a page are about one moment, and a page costs one look at each table, however many parts it has. A view
is used for a moment and thrown away; writes go through it as they are. A refresh only keeps tables open: what it asks
again may have another answer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, TypeVar

from airflow_refresh_provider.core.changes.history import InputHistory
from airflow_refresh_provider.core.changes.sources import ChangedRows, ChangeSource
from airflow_refresh_provider.core.definition.inputs import Input
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.control import ControlStore, ProgressRow
from airflow_refresh_provider.ports.input_kind import InputKind
from airflow_refresh_provider.ports.store_over import StoreOver
from airflow_refresh_provider.ports.table_log import Opened, TableLog

T = TypeVar("T")


def reading_once(ports: Ports) -> Ports:
    """The ports of one view: a table that is an input, or a target and an input, is opened once."""
    opened = Opened()
    inputs = {name: _Kind(kind.keeping(opened)) for name, kind in ports.inputs.items()}
    return replace(ports, inputs=inputs, store=_Store(ports.store), log=_Log(ports.log.keeping(opened)))


def tables_kept_open(ports: Ports) -> Ports:
    """The ports of one refresh: a version of a table is opened once, and the newest where the log has a newer one."""
    opened = Opened(followed=True)
    inputs = {name: kind.keeping(opened) for name, kind in ports.inputs.items()}
    return replace(ports, inputs=inputs, log=ports.log.keeping(opened))


def inputs_read_once(ports: Ports) -> Ports:
    """The ports of a decision: only what it asks of the inputs is not read again."""
    return replace(ports, inputs={name: _Kind(kind) for name, kind in ports.inputs.items()})


class _Log:
    def __init__(self, log: TableLog) -> None:
        self._log = log
        self.facts = cache(log.facts)
        self.identity = cache(log.identity)
        self.newest = cache(log.newest)
        self.oldest = cache(log.oldest)
        self.readable_until = cache(log.readable_until)
        self.sizes_within = cache(log.sizes_within)
        self.files_within = log.files_within
        self.few_files = log.few_files
        self.markers = cache(log.markers)
        self.commits = cache(log.commits)

    def keeping(self, opened: Opened) -> TableLog:
        return _Log(self._log.keeping(opened))


class _Kind:
    def __init__(self, kind: InputKind[Any]) -> None:
        self._kind = kind
        self._read: dict[Hashable, Any] = {}

    def keeping(self, opened: Opened) -> InputKind[Any]:
        return _Kind(self._kind.keeping(opened))

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


class _Store(StoreOver):
    def __init__(self, store: ControlStore) -> None:
        super().__init__(store)
        self.read = cache(store.read)  # type: ignore[method-assign]
        self.records = cache(store.records)  # type: ignore[method-assign]
        self.beats = cache(store.beats)  # type: ignore[method-assign]
        self.newest_events = cache(store.newest_events)  # type: ignore[method-assign]
        self._progress: dict[str, list[ProgressRow]] = {}

    def progress(self, name: str, run_id: str) -> list[ProgressRow]:
        if run_id not in self._progress:
            self._progress[run_id] = super().progress(name, run_id)
        return self._progress[run_id]

    def progress_of(self, run_ids: Collection[str]) -> dict[str, list[ProgressRow]]:
        missing = [run_id for run_id in run_ids if run_id not in self._progress]
        found = super().progress_of(missing) if missing else {}
        self._progress |= {run_id: found.get(run_id, []) for run_id in missing}
        return {run_id: rows for run_id in run_ids if (rows := self._progress[run_id])}
