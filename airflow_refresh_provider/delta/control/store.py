"""The control store on delta-rs: state by compare-and-set, progress and events as append-only indexes, beats beside."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from datetime import datetime, timedelta

from airflow_refresh_provider.core.definition.names import is_definition_name
from airflow_refresh_provider.core.run.lifecycle import Event
from airflow_refresh_provider.core.run.owner import Beat
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.core.text.stored import Stored
from airflow_refresh_provider.delta.control.added_up import added_up
from airflow_refresh_provider.delta.control.beats import Beats
from airflow_refresh_provider.delta.control.compaction import (
    COMPACT_EVERY,
    MAINTAIN_EVERY,
    MERGE_EVERY,
    MERGED_BYTES,
    SMALL_BYTES,
    Act,
    Compaction,
    merged,
    ordered,
    without_older,
    without_uncommitted,
)
from airflow_refresh_provider.delta.control.control_table import ControlTable, Row, quoted
from airflow_refresh_provider.delta.control.newest_view import NewestView
from airflow_refresh_provider.delta.control.root import Mark, check_place, make_mark, read_mark
from airflow_refresh_provider.delta.control.state import StateTable, StateView
from airflow_refresh_provider.delta.storage.object_stores import check_room, storage
from airflow_refresh_provider.ports.control import AddedUp, EventRow, ProgressRow, Snapshot

PROGRESS_KEPT = timedelta(days=7)
EVENTS_KEPT = timedelta(days=90)

_SCHEDULES: dict[str, dict[int, tuple[Act, ...]]] = {
    # The log of a target has what is removed here: `rebuild-progress` restores that of its last run.
    "progress": {
        COMPACT_EVERY: (merged(SMALL_BYTES),),
        MAINTAIN_EVERY: (without_older(PROGRESS_KEPT), merged(MERGED_BYTES), without_uncommitted),
    },
    # The history of a definition is read without that of the others.
    "events": {
        MERGE_EVERY: (merged(SMALL_BYTES),),
        MAINTAIN_EVERY: (without_older(EVENTS_KEPT), ordered("name"), without_uncommitted),
    },
}


class DeltaControlStore:
    """The control tables of one root, an absolute path or a URI. Reading creates nothing."""

    def __init__(
        self,
        root: str,
        table: Callable[[str, str], ControlTable] = ControlTable,
        compaction: type[Compaction] = Compaction,
    ) -> None:
        check_place(root)
        self._root = root
        self._mark: Mark | None = None
        self._state = StateTable(table(root, "state"), compaction)
        self._progress = table(root, "progress")
        self._events = table(root, "events")
        self._compactions = {t.name: compaction(t, _SCHEDULES[t.name]) for t in (self._progress, self._events)}
        self._views = {t.name: NewestView(t) for t in (self._progress, self._events)}
        self._beats = Beats(root)

    @property
    def control_id(self) -> str:
        """Identity of this root. Asking for it makes it, because targets may carry only an identity that is stored."""
        return self._made().control_id

    @property
    def root(self) -> str:
        """Where it is."""
        return self._root

    @property
    def exists(self) -> bool:
        """Whether there is such a root yet. Raises Invalid when its format is newer."""
        self._mark = self._mark or read_mark(self._root)
        return self._mark is not None

    def read(self, name: str) -> Snapshot:
        """One definition as it is now. What can be no name is not looked for: it may be no text of delta-rs."""
        if self.exists and is_definition_name(name):
            return self._state.read(name)
        return StateView(name, None, 0)

    def commit(self, snapshot: Snapshot, record: Record, event: Event, at: datetime) -> Snapshot:
        """Store the next record, if what was read is still the newest. Raises StaleSnapshot."""
        assert isinstance(snapshot, StateView)
        self._made()
        return self._state.write(snapshot, record, event, at)

    def records(self) -> list[Record]:
        """The newest record of every definition, dropped ones left out, by name."""
        return [r for r in self._state.records() if not r.dropped] if self.exists else []

    def beat(self, name: str, run_id: str, unit: int | None, beat: Beat) -> None:
        """A sign of life."""
        self._beats.put(name, run_id, unit, beat)

    def beats(self, name: str, run_id: str) -> tuple[Beat, ...]:
        """The last signs of life of a run and its units."""
        return self._beats.of(name, run_id)

    def clear_beats(self, name: str, run_id: str) -> None:
        """Remove the beats of a run."""
        self._beats.clear(name, run_id)

    def add_progress(self, rows: Iterable[ProgressRow]) -> None:
        """Append rows, all in one commit."""
        self._append(self._progress, rows)

    def progress(self, name: str, run_id: str) -> list[ProgressRow]:
        """All rows of a run, oldest first."""
        return _oldest_first(self._select(self._progress, f"name = {quoted(name)} AND run_id = {quoted(run_id)}"))

    def progress_of(self, run_ids: Collection[str]) -> dict[str, list[ProgressRow]]:
        """As `progress`, of several runs in one read, by run."""
        if not run_ids:
            return {}
        found: dict[str, list[Row]] = {}
        for row in self._select(self._progress, f"run_id IN ({', '.join(map(quoted, sorted(run_ids)))})"):
            found.setdefault(str(row["run_id"]), []).append(row)
        return {run_id: _oldest_first(rows) for run_id, rows in found.items()}

    def add_event(self, row: EventRow) -> None:
        """Append one event."""
        self._append(self._events, [row])

    def events(self, name: str) -> list[EventRow]:
        """Oldest first."""
        return _events(self._select(self._events, f"name = {quoted(name)}"))

    def newest_events(self, name: str, count: int) -> list[EventRow]:
        """As `events`, of each kind at most so many, the newest, without their figures."""
        columns = "name, run_id, event, generation, at, detail"
        ranked = "SELECT *, row_number() OVER (PARTITION BY event ORDER BY at DESC) AS place FROM events"
        of_name = f"{ranked} WHERE name = {quoted(name)}"
        return _events(self._query(self._events, f"SELECT {columns} FROM ({of_name}) WHERE place <= {count}"))

    def events_of_run(self, name: str, run_id: str) -> list[EventRow]:
        """As `events`, those of one run."""
        return _events(self._select(self._events, f"name = {quoted(name)} AND run_id = {quoted(run_id)}"))

    def costs_since(self, event: str, names: Collection[str], since: datetime) -> AddedUp:
        """What runs of these definitions have cost that ended since a moment; some come back as rows."""
        view = self._views[self._events.name].get() if self.exists and names else None
        return AddedUp() if view is None else added_up(self._events, view, event, names, since)

    def compact(self) -> None:
        """All that is done along the way, at once; safe beside any reader and writer."""
        if self.exists:
            for compaction in (self._state.compaction, *self._compactions.values()):
                compaction.now()

    def _append(self, table: ControlTable, rows: Iterable[Stored]) -> None:
        stored: list[Row] = [row.model_dump() for row in rows]
        if not stored:
            return
        self._made()
        doing = f"writing the control table {table.name}"
        check_room(doing, self._root)
        with storage(doing, table.location):
            view = table.open_or_create()
            table.append(view, stored)
        self._compactions[table.name].after(view.version())

    def _select(self, table: ControlTable, condition: str) -> list[Row]:
        return self._query(table, f"SELECT * FROM {table.name} WHERE {condition}")

    def _query(self, table: ControlTable, sql: str) -> list[Row]:
        view = self._views[table.name].get() if self.exists else None
        return [] if view is None else table.select(view, sql)

    def _made(self) -> Mark:
        self._mark = self._mark or read_mark(self._root) or make_mark(self._root)
        return self._mark


def _events(rows: Iterable[Row]) -> list[EventRow]:
    return sorted(map(EventRow.model_validate, rows), key=lambda row: row.at)


def _oldest_first(rows: Iterable[Row]) -> list[ProgressRow]:
    return sorted(map(ProgressRow.model_validate, rows), key=lambda r: (r.at, r.generation, r.chunk))
