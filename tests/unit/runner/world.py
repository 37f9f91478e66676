"""One definition in a lake in memory, and as many processes as a test wants."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from airflow_refresh_provider.core.definition.columns import Column, visible
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.log.commits import Commit
from airflow_refresh_provider.core.run.record import Record, Run
from airflow_refresh_provider.core.run.request import OnInterrupted, Request
from airflow_refresh_provider.core.run.results import RunResult
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.testing.memory_control import MemoryControlStore
from airflow_refresh_provider.testing.memory_lake import MemoryLake
from airflow_refresh_provider.testing.memory_ports import memory_ports
from airflow_refresh_provider.testing.memory_rows import shown

NAME = "orders"
INPUT = "/in/orders"
TARGET = "/gold/orders"
COLUMNS = (Column(name="k", type="int"), Column(name="v", type="string"))
ONE = Request(workers=1)
RESTART = Request(workers=1, on_interrupted=OnInterrupted.RESTART)
FORCE = Request(workers=1, force=True)


def row(k: int | None, v: str = "a") -> dict[str, Any]:
    return {"k": k, "v": v}


def definition(**changes: Any) -> Definition:
    given: dict[str, Any] = {
        "name": NAME,
        "target": TARGET,
        "query": "SELECT * FROM x",
        "inputs": {"x": {"path": INPUT}},
        "keys": ["k"],
        "max_delete_ratio": 1.0,
    }
    return Definition.build(**(given | changes))


class World:
    def __init__(self, *rows: dict[str, Any], **changes: Any) -> None:
        self.lake = MemoryLake()
        self.store = MemoryControlStore()
        self.dead: set[int] = set()
        self.lake.create(INPUT, COLUMNS, rows)
        self.ports = self.process()
        self.refreshes = Refreshes(self.ports)
        self.refreshes.register(definition(**changes))

    def process(self) -> Ports:
        return memory_ports(self.lake, self.store, self.dead)

    def die(self, ports: Ports) -> None:
        self.dead.add(ports.processes.this().pid)

    def run(self, request: Request = ONE) -> RunResult:
        return self.refreshes.run(NAME, request)

    def another(self, request: Request = ONE) -> RunResult:
        return Refreshes(self.process()).run(NAME, request)

    def become(self, *rows: dict[str, Any]) -> None:
        """Make the input hold exactly these rows."""
        self.lake.rewrite(INPUT, lambda _row: None)
        self.lake.append(INPUT, rows)

    @property
    def record(self) -> Record:
        record = self.store.read(NAME).record
        assert record is not None
        return record

    @property
    def interrupted(self) -> Run:
        assert self.record.run is not None
        return self.record.run

    @property
    def commits(self) -> list[Commit]:
        return [v.commit for v in self.lake.table(TARGET).versions]

    def target(self, version: int | None = None) -> list[dict[str, Any]]:
        return ordered(map(shown, self.lake.rows(TARGET, version)))

    def source(self) -> list[dict[str, Any]]:
        names = [c.name for c in visible(self.lake.table(INPUT).newest.columns)]
        return ordered({n: r.get(n) for n in names} for r in self.lake.rows(INPUT))

    def staged(self) -> list[str]:
        """What is staged, but for the checksums of the published rows."""
        record = self.store.read(NAME).record
        published = record.published if record and not record.dropped else None
        kept = published.checksums.location if published and published.checksums else None
        return [place for place in self.lake.tables if place.startswith(self.ports.staging_root) and place != kept]

    def fresh(self) -> bool:
        """Whether the target equals the query, is published so, and nothing is left over."""
        published = self.record.published
        assert published is not None and self.record.run is None
        return self.target() == self.target(published.version) == self.source() and not self.staged()


def ordered(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=repr)
