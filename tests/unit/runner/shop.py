"""A lake in memory with customers, their orders, and the revenue by customer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from airflow_refresh_provider.core.definition.columns import Column, Columns
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import RunResult
from airflow_refresh_provider.ports.engine import Engine
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.testing.memory_lake import MemoryLake
from airflow_refresh_provider.testing.memory_ports import memory_ports
from tests.unit.runner.faults import SteppingStore

NAME, TARGET = "revenue", "/gold/revenue"
ONE = Request(workers=1)
REVENUE = (
    "SELECT c.k, c.name, count(o.id) AS orders, sum(o.total) AS revenue FROM customers c LEFT JOIN orders o "
    "ON o.customer = c.k GROUP BY c.k, c.name"
)


def columns(**types: str) -> Columns:
    return tuple(Column(name=name, type=type_) for name, type_ in types.items())


class Shop:
    """Customers and their orders."""

    def __init__(self, query: str = REVENUE, **changes: Any) -> None:
        self.lake = MemoryLake()
        self.lake.create("/in/customers", columns(k="int", name="string"), [customer(k) for k in range(5)])
        orders = [order(number, number % 4) for number in range(8)]
        self.lake.create("/in/orders", columns(id="int", customer="int", total="int"), orders)
        self.store, self._dead = SteppingStore(self.lake), set[int]()
        self.refreshes = self._owner()
        self.register(query, **changes)

    def register(self, query: str = REVENUE, **changes: Any) -> None:
        given: dict[str, Any] = {
            "name": NAME,
            "target": TARGET,
            "query": query,
            "inputs": {name: {"path": f"/in/{name}"} for name in ("customers", "orders")},
            "keys": ["k"],
            "mode": "incremental",
            "max_delete_ratio": 1.0,
        }
        self.refreshes.register(Definition.build(**(given | changes)))

    def _owner(self) -> Refreshes:
        return Refreshes(memory_ports(self.lake, self.store, self._dead))

    def next_owner(self) -> None:
        """The process dies; another one takes its place."""
        before = self.refreshes.ports
        self._dead.add(before.processes.this().pid)
        self.refreshes = Refreshes(replace(self._owner().ports, clock=before.clock))
        self.use(before.engine)

    @property
    def record(self) -> Record:
        found = self.store.read(NAME).record
        assert found is not None
        return found

    def left_over(self) -> list[str]:
        """What a run that has ended has not cleaned up."""
        return [place for place in self.lake.tables if place.startswith(self.refreshes.ports.staging_root)]

    def use(self, engine: Engine) -> None:
        """Refresh with another engine from now on."""
        self.refreshes = Refreshes(replace(self.refreshes.ports, engine=engine))

    def run(self) -> RunResult:
        """A refresh, after which a comparison of everything finds no difference."""
        result = self.refreshes.run(NAME, ONE)
        assert self.refreshes.compare_only(NAME, 3).equal
        return result

    def begin(self) -> None:
        """The first refresh, and the first incremental one, which is verified; customer 0 has one order more then."""
        self.run()
        self.lake.append("/in/orders", [order(99, 0)])
        result = self.run()
        assert (result.mode, result.mode_code) == ("full", "verification")


def customer(k: int, name: str = "a") -> dict[str, Any]:
    return {"k": k, "name": name}


def order(number: int, of: int | None, total: int = 10) -> dict[str, Any]:
    return {"id": number, "customer": of, "total": total}
