"""The world of the model: the real runner on fakes, several owners, and a record of everything that happens.

Every owner finds all others gone, so each start takes over at once: liveness never protects anything.
Releasing a session does nothing here, for it may come too late in reality.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from airflow_refresh_provider.core.run.lifecycle import Event, State
from airflow_refresh_provider.core.run.owner import Beat, OriginStatus, Owner
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.control import EventRow, ProgressRow, Snapshot
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.testing.memory_control import MemoryControlStore
from airflow_refresh_provider.testing.memory_engine import MemoryEngine
from airflow_refresh_provider.testing.memory_lake import MemoryLake
from airflow_refresh_provider.testing.memory_ports import memory_ports
from airflow_refresh_provider.testing.memory_table import MemoryTable, Row
from tests.model.actors import Stage
from tests.unit.runner.world import COLUMNS, INPUT, NAME, TARGET, definition

OUTSIDE = "outside"
"""The actor of what is done between schedules."""

WRITES_OF_OWNERS = frozenset(Event) - {
    Event.REGISTER,
    Event.START,
    Event.TAKE_OVER,
    Event.ADOPT,
    Event.CANCEL,
    Event.DROP,
}
"""Transitions that only the owner of the run may store."""


@dataclass(frozen=True)
class Written:
    """One stored transition, its actor, and how many versions the target had then."""

    by: str
    event: Event
    before: Record | None
    record: Record
    versions: int


class SteppedStore(MemoryControlStore):
    """The control store, stopping before each access; writes of dead actors are lost."""

    def __init__(self, world: ModelWorld) -> None:
        super().__init__()
        self.world = world
        self.written: list[Written] = []

    def read(self, name: str) -> Snapshot:
        self.world.step("read control")
        return super().read(name)

    def commit(self, snapshot: Snapshot, record: Record, event: Event, at: datetime) -> Snapshot:
        self.world.step(f"control {event.value}")
        before = super().read(record.name).record
        after = super().commit(snapshot, record, event, at)
        target = self.world.lake.tables.get(TARGET)
        versions = len(target.versions) if target else 0
        self.written.append(Written(self.world.acting, event, before, record, versions))
        return after

    def beat(self, name: str, run_id: str, unit: int | None, beat: Beat) -> None:
        self.world.check_alive()
        super().beat(name, run_id, unit, beat)

    def clear_beats(self, name: str, run_id: str) -> None:
        self.world.check_alive()
        super().clear_beats(name, run_id)

    def add_progress(self, rows: Iterable[ProgressRow]) -> None:
        self.world.check_alive()
        super().add_progress(rows)

    def add_event(self, row: EventRow) -> None:
        self.world.check_alive()
        super().add_event(row)


class HeedlessEngine(MemoryEngine):
    """Releasing a session comes too late."""

    def release(self, session_id: str) -> None:
        self.lake.step(f"release {session_id}")


class OnlyProcess:
    """A process that finds all others gone, and all origins finished."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.numbers = 0

    def this(self) -> Owner:
        return Owner(host="memory", boot_id="one", pid=1, started=0.0, label=self.name)

    def alive(self, owner: Owner) -> bool | None:
        return owner.label == self.name

    def origin_status(self, _origin: str) -> OriginStatus:
        return OriginStatus.FINISHED

    def new_id(self) -> str:
        self.numbers += 1
        return f"{self.name}-{self.numbers}"


class ModelWorld:
    """One definition, its input and target, and the means to act on them."""

    def __init__(self, **changes: Any) -> None:
        self.stage: Stage | None = None
        self.lake = MemoryLake()
        self.lake.step = self.step
        self.store = SteppedStore(self)
        self.dropped_in_use: list[str] = []
        self.replaced: list[MemoryTable] = []
        self.lake.create(INPUT, COLUMNS)
        self.changes = changes

    @property
    def acting(self) -> str:
        actor = self.stage.acting if self.stage else None
        return actor.name if actor else OUTSIDE

    def step(self, what: str) -> None:
        if self.stage:
            self.stage.step(what)
            if what.startswith("drop "):
                self._note_drop(what.removeprefix("drop "))

    def check_alive(self) -> None:
        if self.stage:
            self.stage.check_alive()

    def owner(self, name: str) -> Refreshes:
        """The refreshes as seen by an owner of this name."""
        return Refreshes(self.ports(name))

    def ports(self, name: str) -> Ports:
        ports = memory_ports(self.lake, self.store)
        return replace(ports, engine=HeedlessEngine(self.lake), processes=OnlyProcess(name))

    @property
    def record(self) -> Record:
        """The definition's record now."""
        record = MemoryControlStore.read(self.store, NAME).record
        assert record is not None
        return record

    def register(self, by: str = OUTSIDE, **changes: Any) -> None:
        given = definition(**(self.changes | changes))
        self.owner(by).register(given)

    def clean_log(self) -> None:
        """All commits of the target so far are cleaned out of its log."""
        target = self.lake.table(TARGET)
        target.oldest = len(target.versions)

    def replace_target(self, rows: Iterable[Row], versions: int = 1) -> None:
        """Replace the target by another table; nothing of the one before can be read."""
        self.clean_log()
        self.replaced.append(self.lake.table(TARGET))
        self.lake.remove(TARGET)
        self.lake.create(TARGET, COLUMNS, rows)
        for _ in range(versions - 1):
            self.lake.append(TARGET, [])

    def _note_drop(self, location: str) -> None:
        """Staging may only be dropped once its run is published or has ended."""
        for record in self.store.records():
            run = record.run
            if run and run.plan.staging == location and not run.published and record.state is not State.RESETTING:
                self.dropped_in_use.append(f"{self.acting} dropped the staging of run {run.run_id}, which needs it")
