"""Lives of definitions over joins: changes, refreshes, crashes and other writers in random order.

After each publication the published rows are what the query gives over the pinned inputs, worked out without SQL.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from airflow_refresh_provider.core.changes.pins import DeltaPin
from airflow_refresh_provider.core.definition.columns import Column
from airflow_refresh_provider.core.run.record import Published
from airflow_refresh_provider.core.run.results import Outcome
from airflow_refresh_provider.errors import Defect, RefreshError, Retry
from airflow_refresh_provider.testing.memory_rows import shown
from airflow_refresh_provider.testing.memory_table import Row, Rows
from tests.unit.runner.faults import Killed, counted
from tests.unit.runner.shop import NAME, ONE, REVENUE, TARGET, Shop, customer, order
from tests.unit.runner.world import ordered

ORDERS, CUSTOMERS = "/in/orders", "/in/customers"
_LONGEST = 60
"""Steps of a refresh, at one of which something may happen to it."""


@dataclass(frozen=True)
class Kind:
    """A definition, and what its query gives."""

    name: str
    query: str
    keys: tuple[str, ...]
    expected: Callable[[Rows, Rows], list[Row]]
    options: dict[str, Any] = field(default_factory=dict)


def _of(customer_row: Row, orders: Rows) -> list[Row]:
    return [row for row in orders if row["customer"] == customer_row["k"]]


def _sum(rows: list[Row]) -> int | None:
    known = [row["total"] for row in rows if row["total"] is not None]
    return sum(known) if known else None


def _revenue(customers: Rows, orders: Rows) -> list[Row]:
    return [
        {"k": c["k"], "name": c["name"], "orders": len(_of(c, orders)), "revenue": _sum(_of(c, orders))}
        for c in customers
    ]


def _totals(customers: Rows, orders: Rows) -> list[Row]:
    groups: dict[str, list[Row]] = {}
    for c in customers:
        groups.setdefault(c["name"], []).extend(_of(c, orders))
    return [
        {
            "name": name,
            "orders": len(rows),
            "known": sum(row["total"] is not None for row in rows),
            "revenue": _sum(rows),
        }
        for name, rows in groups.items()
        if rows
    ]


def _ranked(customers: Rows, orders: Rows) -> list[Row]:
    return [
        {
            "id": row["id"],
            "customer": c["k"],
            "name": c["name"],
            "place": 1 + sum(other["id"] < row["id"] for other in _of(c, orders)),
        }
        for c in customers
        for row in _of(c, orders)
    ]


TOTALS = (
    "SELECT c.name, count(*) AS orders, count(o.total) AS known, sum(o.total) AS revenue FROM orders o "
    "JOIN customers c ON o.customer = c.k GROUP BY c.name"
)
RANKED = (
    "SELECT o.id, o.customer, c.name, rank() OVER (PARTITION BY o.customer ORDER BY o.id) AS place FROM orders o "
    "JOIN customers c ON o.customer = c.k"
)
CHUNKED: dict[str, Any] = {"visibility": "live", "chunking": {"one_commit_up_to": 1, "chunk_rows": 1}}
KINDS = (
    Kind("outer join and aggregate", REVENUE, ("k",), _revenue, CHUNKED),
    Kind("added up", TOTALS, ("name",), _totals, {"verify_share": 0.5}),
    Kind("window", RANKED, ("id",), _ranked, {"layout": "vnode", "vnodes": 4, "verify_every": 4} | CHUNKED),
)


class Life:
    """One definition, and what happens to it. `wrong`: the first publication that is not the query, in words."""

    def __init__(self, kind: Kind, seed: int) -> None:
        self.kind = kind
        self.random = random.Random(f"{kind.name} {seed}")
        self.shop = Shop(kind.query, keys=kind.keys, **kind.options)
        self.trace: list[str] = []
        self.modes: list[str | None] = []
        self.deaths = 0
        self.wrong: str | None = None
        self._seen: Published | None = None
        self._last_id = 100

    def go_on(self, events: int) -> None:
        """So many events, then refreshes until nothing is left to do."""
        self._refresh()
        for _ in range(events):
            if self.wrong is None:
                self.random.choices(
                    (self._change, self._disturb, self._refresh_disturbed, self._refresh), (4, 1, 4, 3)
                )[0]()
        self._settle()

    def _settle(self) -> None:
        self.shop.next_owner()
        for _ in range(6):
            if self._refresh() is Outcome.NOTHING_TO_DO:
                break
        else:
            self._is_wrong("there is always something to do")
        if self.shop.record.run or self.shop.left_over():
            self._is_wrong("something is left over")

    def _refresh(self) -> Outcome | None:
        try:
            result = self.shop.refreshes.run(NAME, ONE)
        except Defect:
            raise
        except RefreshError as error:
            self.trace.append(f"refresh fails: {error.code}")
            return None
        finally:
            self._look()
        self.trace.append(f"refresh: {result.outcome} {result.mode} {result.mode_code}")
        self.modes.append(result.mode)
        return result.outcome

    def _refresh_disturbed(self) -> None:
        """Something happens at one of its steps: another writer, a lost connection, or its end."""
        at, what = self.random.randrange(_LONGEST), self.random.choice(("others", "connection", "death", "death"))
        dead = False

        def disturb(before: int) -> None:
            nonlocal dead
            if dead or (before == at and what == "death"):
                dead = True
                raise Killed
            if before == at and what == "connection":
                raise Retry("connection_lost", "the connection broke", left="Not known.", next="Run again.")
            if before == at:
                self.random.choice((self._change, self._disturb))()

        with counted(self.shop.lake, disturb) as steps, suppress(Killed):
            self._refresh()
        if dead:
            self.deaths += 1
            self.trace.append(f"it dies at {steps[at]}")
            self.shop.next_owner()

    def _change(self) -> None:
        """Some rows of some inputs."""
        for _ in range(self.random.randint(1, 3)):
            act = self.random.choice(
                (self._add_order, self._move_orders, self._delete_orders, self._rename, self._leave)
            )
            self.trace.append(act.__name__)
            act()

    def _add_order(self) -> None:
        self._last_id += 1
        row = order(self._last_id, self.random.choice((0, 1, 2, 3, 7, None)))
        self.shop.lake.append(ORDERS, [row | {"total": self.random.choice((None, 1, 5, 9))}])

    def _move_orders(self) -> None:
        part, to = self.random.randrange(3), self.random.choice((1, 4, None))
        self.shop.lake.rewrite(ORDERS, lambda row: row | {"customer": to} if row["id"] % 3 == part else row)

    def _delete_orders(self) -> None:
        part = self.random.randrange(5)
        self.shop.lake.rewrite(ORDERS, lambda row: None if row["id"] % 5 == part else row)

    def _rename(self) -> None:
        k, name = self.random.randrange(6), self.random.choice("abc")
        self.shop.lake.rewrite(CUSTOMERS, lambda row: row | {"name": name} if row["k"] == k else row)

    def _leave(self) -> None:
        """A customer goes, or comes back."""
        k = self.random.randrange(8)
        if any(row["k"] == k for row in self.shop.lake.rows(CUSTOMERS)):
            self.shop.lake.rewrite(CUSTOMERS, lambda row: None if row["k"] == k else row)
        else:
            self.shop.lake.append(CUSTOMERS, [customer(k)])

    def _disturb(self) -> None:
        """What other writers do."""
        place = self.random.choice((ORDERS, CUSTOMERS))
        table, lake = self.shop.lake.table(place), self.shop.lake
        acts: tuple[tuple[str, Callable[[], object]], ...] = (
            ("optimizes an input", lambda: lake.optimize(place)),
            ("restores an input", lambda: lake.restore(place, self._version_of(place))),
            ("adds a column", lambda: lake.reshape(place, _with_another(table.newest.columns))),
            ("cleans the log of an input", lambda: setattr(table, "oldest", len(table.versions) - 1)),
            ("optimizes the target", lambda: lake.optimize(TARGET)),
            ("deletes from the target", lambda: lake.rewrite(TARGET, self._unless_drawn())),
            ("restores the target", lambda: lake.restore(TARGET, self._version_of(TARGET))),
        )
        what, act = self.random.choice(acts)
        self.trace.append(f"another {what} ({place})")
        act()

    def _version_of(self, place: str) -> int:
        table = self.shop.lake.table(place)
        return self.random.randrange(max(1, table.oldest), len(table.versions))

    def _unless_drawn(self) -> Callable[[Row], Row | None]:
        return lambda row: None if self.random.random() < 0.4 else row

    def _look(self) -> None:
        """Whether what is published, if it is another version than before, is the query."""
        published = self.shop.record.published
        if published is None or published == self._seen:
            return
        self._seen = published
        found = ordered(map(shown, self.shop.lake.rows(TARGET, published.version)))
        pins = {name: pin for name, pin in published.pins.items() if isinstance(pin, DeltaPin)}
        inputs = {name: self.shop.lake.rows(pin.location, pin.version) for name, pin in pins.items()}
        wanted = ordered(self.kind.expected(inputs["customers"], inputs["orders"]))
        if found != wanted:
            self._is_wrong(f"version {published.version} is {found}, the query gives {wanted}")

    def _is_wrong(self, what: str) -> None:
        self.wrong = self.wrong or "\n".join((*self.trace, what))


def _with_another(columns: tuple[Column, ...]) -> tuple[Column, ...]:
    return (*columns, Column(name=f"more_{len(columns)}", type="int"))


def lived(kind: Kind, seeds: range, events: int = 14) -> Iterator[Life]:
    """One life for each seed."""
    for seed in seeds:
        life = Life(kind, seed)
        life.go_on(events)
        yield life
