"""Refreshes in memory as the pictures of the docs show them: the same tables, times and numbers every time."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.errors import RefreshError
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.testing.memory_control import MemoryControlStore
from airflow_refresh_provider.testing.memory_lake import MemoryLake
from airflow_refresh_provider.testing.memory_ports import memory_ports
from tests.unit.runner.faults import Killed, at
from tests.unit.runner.shop import ONE, columns, customer, order

DEFINITION, RUNNING = "sales.revenue", "web.sessions"
_STEP_SECONDS = 0.37
"""A step of a refresh takes so long."""
_REVENUE = """\
SELECT c.k, c.name, count(o.id) AS orders, sum(o.total) AS revenue
FROM customers c
LEFT JOIN orders o ON o.customer = c.k
GROUP BY c.k, c.name"""
_CHUNKS = {"one_commit_up_to": 1, "chunk_rows": 4}


class Scene:
    """A shop: a chain of tables of which one is late and one suspended, one that fails, one that is being refreshed."""

    def __init__(self) -> None:
        self.lake = MemoryLake()
        self.lake.create("/lake/customers", columns(k="int", name="string"), [customer(k, f"c{k}") for k in range(40)])
        self.lake.create(
            "/lake/orders", columns(id="int", customer="int", total="int"), [order(n, n % 40, n) for n in range(300)]
        )
        self.lake.create("/lake/clicks", columns(id="int", page="string"), [_click(n) for n in range(600)])
        self.lake.create("/lake/contacts", columns(k="int", name="string"), [customer(k % 9) for k in range(10)])
        self.refreshes = Refreshes(memory_ports(self.lake, MemoryControlStore(), set()))
        self._clock = self.refreshes.ports.clock
        self._chain()
        self._fails()
        self._run_half()

    @property
    def run_id(self) -> str:
        """The run in progress."""
        run = self.refreshes.stored(RUNNING).run
        assert run is not None
        return run.run_id

    def _chain(self) -> None:
        self._register("sales.orders", "SELECT id, customer, total FROM raw", ["id"], raw="/lake/orders")
        self._register_revenue(_REVENUE)
        best = "SELECT k, revenue FROM revenue WHERE revenue > 1000"
        self._register("sales.best", best, ["k"], revenue=f"/gold/{DEFINITION}", refresh={"interval": "1 hour"})
        self._register("sales.board", "SELECT k FROM best", ["k"], best="/gold/sales.best")
        chain = ("sales.orders", DEFINITION, "sales.best", "sales.board")
        for turn in range(9):
            for name in chain:
                self._run(name)
            self._clock.sleep(600)
            self._order(*(order(1000 + 10 * turn + n, n, 7 * n) for n in range(turn % 4 + 2)))
            if turn == 3:
                self._register_revenue(_REVENUE.replace("\nGROUP", "\nWHERE o.total > 0\nGROUP"))
        self._run("sales.orders")
        self.refreshes.suspend("sales.board", "its numbers are checked")
        self._clock.sleep(1140)

    def _register_revenue(self, query: str) -> None:
        inputs = {"customers": "/lake/customers", "orders": "/gold/sales.orders"}
        refresh = {"on_change": True, "target_lag": "5 minutes"}
        self._register(DEFINITION, query, ["k"], **inputs, mode="incremental", refresh=refresh)

    def _order(self, *orders: dict[str, Any]) -> None:
        self.lake.append("/lake/orders", orders)
        self._note_times()

    def _fails(self) -> None:
        self._register("crm.contacts", "SELECT k, name FROM raw", ["k"], raw="/lake/contacts")
        with pytest.raises(RefreshError):
            self._run("crm.contacts")

    def _run_half(self) -> None:
        vnodes: dict[str, Any] = {"layout": "vnode", "vnodes": 4, "visibility": "live", "chunking": _CHUNKS}
        self._register(RUNNING, "SELECT id, page FROM clicks", ["id"], clicks="/lake/clicks", **vnodes)
        self._run(RUNNING)
        self.lake.rewrite("/lake/clicks", lambda row: row | {"page": f"{row['page']}/"})
        self._note_times()
        with at(self.lake, f"begin /gold/{RUNNING}", nth=70), pytest.raises(Killed):
            self.refreshes.run(RUNNING, ONE)

    def _register(self, name: str, query: str, keys: list[str], refresh: Any = None, **inputs: Any) -> None:
        places = {k: {"path": path} for k, path in inputs.items() if str(path).startswith("/")}
        others = {k: value for k, value in inputs.items() if k not in places}
        tags = [name.partition(".")[0]]
        given = {"name": name, "target": f"/gold/{name}", "query": query, "inputs": places, "keys": keys, "tags": tags}
        self.refreshes.register(Definition.build(**given, **others, **({"refresh": refresh} if refresh else {})))

    def _run(self, name: str) -> None:
        self.lake.step = lambda _what: self._clock.sleep(_STEP_SECONDS)
        try:
            self.refreshes.run(name, ONE)
        finally:
            self.lake.step = lambda _what: None
            self._note_times()

    def _note_times(self) -> None:
        """Commits since the last call were made now."""
        for place, table in self.lake.tables.items():
            for version in table.versions:
                self.lake.times.setdefault((place, version.commit.version), self._clock.now())


def _click(number: int) -> dict[str, Any]:
    return {"id": number, "page": f"/{number % 7}"}
