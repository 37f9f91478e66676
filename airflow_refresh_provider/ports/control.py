"""The control store: the owner of each run, decided by compare-and-set.

`read` gives the state as it is; `commit` opens it again and writes through that very view, if what was read is still
the newest there, and raises StaleSnapshot when another process has written that definition since. Progress, events and
beats are indexes and signs of life: losing them loses no refresh.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Protocol

from airflow_refresh_provider.core.run.costs import Sums
from airflow_refresh_provider.core.run.lifecycle import Event
from airflow_refresh_provider.core.run.owner import Beat
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.core.text.stored import Stored


class Snapshot(Protocol):
    """One definition as read. `record` is None when the name was never registered; forgotten ones are `dropped`."""

    @property
    def record(self) -> Record | None: ...


class ProgressRow(Stored):
    """One chunk of one vnode of one run that is done; its latest row counts. A negative vnode stands for all of them.

    `chunk` is the last one done, `generation` did it; the positions are the highest key hash done in staging
    and in the target, None when the whole vnode is done or nothing of it. `unchanged` is not counted by vnode.
    `spent` is JSON, what was spent on the chunk, in one of its rows; None in rows restored from the target's log.
    """

    name: str
    run_id: str
    vnode: int
    stage: str
    unit: int
    chunk: int
    generation: int
    main_position: int | None = None
    staging_position: int | None = None
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    unchanged: int = 0
    bytes: int = 0
    commit_version: int | None = None
    at: datetime
    spent: str | None = None


class EventRow(Stored):
    """One thing that happened to a definition. `detail` is JSON; for the end of a run it is the run's summary.

    The others are figures of that summary, so that costs are added up without it. `worked_ms` is null in rows of
    earlier versions, `mode` and rows where nothing was published; what is not known is null.
    """

    name: str
    run_id: str | None
    event: str
    generation: int
    at: datetime
    detail: str = "{}"
    mode: str | None = None
    fell_back: int | None = None
    inserted: int | None = None
    updated: int | None = None
    deleted: int | None = None
    worked_ms: int | None = None
    spark_ms: int | None = None
    bytes_to_read: int | None = None
    bytes_written: int | None = None


class AddedUp(Stored):
    """What ended runs have cost, as far as the store can add it up, and the ends of all other runs, oldest first."""

    sums: Sums = Sums()
    others: tuple[EventRow, ...] = ()


class ControlStore(Protocol):
    """The control tables of one root. Every method raises errors.Retry or errors.Failed when storage fails."""

    @property
    def control_id(self) -> str:
        """Identity of this control root, written into the targets it keeps."""
        ...

    @property
    def root(self) -> str:
        """Its location, for messages and for default staging."""
        ...

    @property
    def exists(self) -> bool:
        """Whether the root exists yet; reading this does not create it."""
        ...

    def read(self, name: str) -> Snapshot: ...

    def commit(self, snapshot: Snapshot, record: Record, event: Event, at: datetime) -> Snapshot:
        """Store the next record of a definition, exactly once. Raises StaleSnapshot when another write came first."""
        ...

    def records(self) -> list[Record]:
        """The newest record of every definition, dropped ones left out, by name."""
        ...

    def beat(self, name: str, run_id: str, unit: int | None, beat: Beat) -> None: ...

    def beats(self, name: str, run_id: str) -> tuple[Beat, ...]: ...

    def clear_beats(self, name: str, run_id: str) -> None: ...

    def add_progress(self, rows: Iterable[ProgressRow]) -> None: ...

    def progress(self, name: str, run_id: str) -> list[ProgressRow]:
        """All rows of a run, oldest first; of those of one moment, the one of the highest chunk is the last."""
        ...

    def progress_of(self, run_ids: Collection[str]) -> dict[str, list[ProgressRow]]:
        """As `progress`, of several runs in one read, by run; a run without rows is left out."""
        ...

    def add_event(self, row: EventRow) -> None: ...

    def events(self, name: str) -> list[EventRow]:
        """Oldest first."""
        ...

    def newest_events(self, name: str, count: int) -> list[EventRow]:
        """As `events`, of each kind at most so many, the newest, without their figures."""
        ...

    def events_of_run(self, name: str, run_id: str) -> list[EventRow]:
        """As `events`, those of one run."""
        ...

    def costs_since(self, event: str, names: Collection[str], since: datetime) -> AddedUp:
        """What runs of these definitions have cost that ended, by an event of this kind, since a moment."""
        ...

    def compact(self) -> None:
        """Merge small files; safe beside any reader and writer."""
        ...
