"""Fakes of the small ports, and all ports in memory for tests of code that uses refreshes.

Time stands still except for `sleep`; processes live until they are declared dead.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from airflow_refresh_provider.core.run.owner import Beat, OriginStatus, Owner
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.control import ControlStore
from airflow_refresh_provider.ports.store_as_written import StoreAsWritten
from airflow_refresh_provider.ports.waits import Waits
from airflow_refresh_provider.ports.watch import Silent
from airflow_refresh_provider.ports.world import Clock
from airflow_refresh_provider.testing.memory_engine import MemoryEngine
from airflow_refresh_provider.testing.memory_inputs import memory_inputs
from airflow_refresh_provider.testing.memory_lake import BEGINNING, MemoryLake
from airflow_refresh_provider.testing.memory_reads import MemoryFolders, MemoryLog, MemoryStaging
from airflow_refresh_provider.testing.memory_seals import MemorySeals
from airflow_refresh_provider.testing.memory_small_tables import MemorySmallTables

__all__ = ["BEGINNING", "MemoryClock", "MemoryHeart", "MemoryProcesses", "memory_ports"]


class MemoryClock:
    """Time that passes only by `sleep`."""

    def __init__(self) -> None:
        self.time = BEGINNING

    def now(self) -> datetime:
        """The time."""
        return self.time

    def sleep(self, seconds: float) -> None:
        """Let time pass at once."""
        self.time += timedelta(seconds=seconds)


class MemoryProcesses:
    """One process among others of a host. `dead` is shared, so that one can be declared dead to all.

    `origin_statuses` are those of the origins that this process knows of.
    """

    _pids = itertools.count(1)
    _numbers = itertools.count(1)

    def __init__(self, dead: set[int] | None = None) -> None:
        self.dead = set() if dead is None else dead
        self.pid = next(self._pids)
        self.origin_statuses: dict[str, OriginStatus] = {}

    def this(self) -> Owner:
        """This process."""
        return Owner(host="memory", boot_id="one", pid=self.pid, started=0.0, label=f"process {self.pid}")

    def alive(self, owner: Owner) -> bool | None:
        """Whether a process has not been declared dead."""
        return owner.pid not in self.dead

    def origin_status(self, origin: str) -> OriginStatus:
        """What this process knows of an origin."""
        return self.origin_statuses.get(origin, OriginStatus.UNKNOWN)

    def new_id(self) -> str:
        """A number never given twice."""
        return f"id-{next(self._numbers)}"


class MemoryHeart:
    """Beats once, when work begins; beats again and looks only when asked: see `beat` and `look`."""

    def __init__(self, store: ControlStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._looks: list[Callable[[], object]] = []
        self._beats: list[Callable[[], object]] = []
        self._waits = Waits()

    def waits(self, run_id: str, unit: int, until: datetime | None) -> None:
        """Kept for the next beat."""
        self._waits.put(run_id, unit, until)

    @contextmanager
    def beating(
        self, name: str, run_id: str, unit: int | None, generation: int, interrupt: Callable[[], object]
    ) -> Iterator[None]:
        """Give the one sign of life."""

        def beat() -> None:
            waits = self._waits.of(run_id, unit)
            self._store.beat(name, run_id, unit, Beat(generation=generation, at=self._clock.now(), waits=waits))

        def look() -> None:
            record = self._store.read(name).record
            run = record.run if record else None
            if run is None or run.run_id != run_id or not run.is_held(unit, generation):
                interrupt()

        beat()
        self._looks.append(look)
        self._beats.append(beat)
        try:
            yield
        finally:
            self._looks.remove(look)
            self._beats.remove(beat)

    def beat(self) -> None:
        """The next sign of life of everything that works in this process."""
        for beat in tuple(self._beats):
            beat()

    def look(self) -> None:
        """Interrupt the statements of this process whose run, or unit, has another owner or none."""
        for look in tuple(self._looks):
            look()


def memory_ports(lake: MemoryLake, store: ControlStore, dead: set[int] | None = None) -> Ports:
    """A composition in memory as one process sees it; several may share a lake, a store and the set of the dead."""
    clock, environment = MemoryClock(), dict[str, str]()
    return Ports(
        store=StoreAsWritten(store, environment),
        log=MemoryLog(lake),
        folders=MemoryFolders(lake),
        inputs=memory_inputs(lake),
        staging=MemoryStaging(lake),
        small_tables=MemorySmallTables(lake),
        seals=MemorySeals(lake),
        engine=MemoryEngine(lake),
        clock=clock,
        processes=MemoryProcesses(dead),
        heart=MemoryHeart(store, clock),
        watch=Silent(),
        environment=environment,
        staging_root="memory://staging",
    )
