"""Incremental refreshes of joins and aggregates that are killed or disturbed at any step: the target is the query."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

from airflow_refresh_provider.core.definition.columns import Column
from airflow_refresh_provider.core.run.results import Outcome
from airflow_refresh_provider.errors import RefreshError
from airflow_refresh_provider.testing.memory_table import Row
from tests.unit.runner.disturbed import BY_VNODE, LIVE
from tests.unit.runner.faults import Killed, counted, dies_at
from tests.unit.runner.shop import NAME, ONE, REVENUE, TARGET, Shop, customer, order

SUMS = (
    "SELECT c.k, count(*) AS orders, count(o.total) AS known, sum(o.total) AS revenue FROM orders o "
    "JOIN customers c ON o.customer = c.k GROUP BY c.k"
)
PLACES = (
    "SELECT o.customer AS k, o.id, o.total, row_number() OVER (PARTITION BY o.customer ORDER BY o.id) AS place "
    "FROM orders o WHERE o.customer IS NOT NULL"
)
TOTALS = "SELECT customer AS k, id, max(total) AS most FROM orders WHERE customer IS NOT NULL GROUP BY customer, id"
BY_PARTITION: dict[str, Any] = LIVE | {"partition_by": ["k"], "inputs": {"orders": {"path": "/in/orders"}}}
ORDERS, CUSTOMERS = "/in/orders", "/in/customers"
A_DAY = 86_400


@dataclass(frozen=True)
class Kind:
    """A definition. `staged`: what its incremental refresh stages, by the beginning of the names."""

    name: str
    query: str = REVENUE
    keys: tuple[str, ...] = ("k",)
    staged: tuple[str, ...] = ("touched-", "of-touched-")
    options: dict[str, Any] = field(default_factory=dict)
    feed: bool = True

    def shop(self) -> Shop:
        """A trusted definition whose inputs have changed."""
        shop = Shop(self.query, keys=self.keys, **self.options)
        if not self.feed:
            shop.lake.reshape(ORDERS, properties={"delta.enableChangeDataFeed": "false"})
        shop.begin()
        shop.refreshes.ports.clock.sleep(A_DAY)
        shop.lake.append(ORDERS, [order(20, 1), order(21, 4, 99)])
        shop.lake.rewrite(ORDERS, _changed)
        return shop


def _changed(row: Row) -> Row | None:
    """An order is deleted, and one moves to another customer."""
    return None if row["id"] == 2 else row | {"customer": 1} if row["id"] == 3 else row


KINDS = [
    Kind("outer join and aggregate"),
    Kind("several chunks", options=LIVE),
    Kind("by vnode", options=BY_VNODE),
    Kind("join", "SELECT o.id, o.total, c.name FROM orders o JOIN customers c ON o.customer = c.k", ("id",)),
    Kind(
        "window",
        "SELECT o.id, o.customer, c.name, rank() OVER (PARTITION BY o.customer ORDER BY o.id) AS place FROM orders o "
        "JOIN customers c ON o.customer = c.k",
        ("id",),
    ),
    Kind(
        "without orders",
        "SELECT k, name FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.k)",
    ),
    Kind(
        "union",
        "SELECT k, 'c' AS side, count(*) AS n FROM customers GROUP BY k UNION ALL "
        "SELECT customer, 'o', count(*) FROM orders WHERE customer IS NOT NULL GROUP BY customer",
        ("k", "side"),
    ),
    Kind("from files", feed=False),
    Kind(
        "with time",
        "SELECT c.k, count(o.id) AS orders FROM customers c JOIN orders o ON o.customer = c.k "
        "WHERE o.id >= day(current_date()) GROUP BY c.k",
    ),
    Kind("added up", SUMS, staged=("window-",)),
    Kind("partitions replaced", PLACES, ("k", "id"), ("touched-", "of-partitions-"), BY_PARTITION),
    Kind(
        "partitions of touched values replaced",
        TOTALS,
        ("k", "id"),
        ("touched-", "touched-partitions-", "of-partitions-", "sample-", "of-sample-"),
        BY_PARTITION | {"verify_share": 1.0},
    ),
    Kind("sampled", staged=("touched-", "of-touched-", "sample-", "of-sample-"), options={"verify_share": 1.0}),
    Kind("verified", staged=("touched-", "of-touched-", "changes-"), options={"verify_every": 1}),
]
of_each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


def steps_of(kind: Kind) -> list[str]:
    """All steps of a refresh that nothing disturbs."""
    shop = kind.shop()
    with counted(shop.lake) as steps:
        shop.refreshes.run(NAME, ONE)
    return steps


def settle(shop: Shop) -> None:
    """Refresh until nothing is left to do; then the target is the query, and nothing is left over."""
    for _ in range(5):
        with suppress(RefreshError):
            if shop.refreshes.run(NAME, ONE).outcome is Outcome.NOTHING_TO_DO:
                break
    else:
        raise AssertionError("there is always something to do")
    assert shop.refreshes.compare_only(NAME, 3).equal
    assert (shop.record.run, shop.left_over()) == (None, [])


def points_of(kind: Kind) -> list[int]:
    """The steps at which a run has staged, compared, frozen, applied and published: the first of each."""
    steps = steps_of(kind)
    staged = [next(n for n, step in enumerate(steps) if f"/{name}" in step) for name in kind.staged]
    stored = [n for n, step in enumerate(steps) if step in ("store freeze", "stored freeze", "store publish")]
    return [*staged, *stored, *(steps.index(f"{when} {TARGET}") for when in ("begin", "commit", "answer"))]


def killed_at(kind: Kind, number: int) -> Shop:
    """A shop whose refresh was killed at a step."""
    shop = kind.shop()
    with counted(shop.lake, dies_at(number)), pytest.raises(Killed):
        shop.refreshes.run(NAME, ONE)
    return shop


def check_resumed(kind: Kind, number: int) -> None:
    shop = killed_at(kind, number)
    shop.next_owner()
    result = shop.run()
    assert "verify_every" in kind.options or result.mode in ("incremental", None), result.mode_reason
    settle(shop)


@of_each_kind
def test_a_run_killed_while_it_stages_compares_freezes_or_applies_is_finished_by_the_next_owner(kind: Kind) -> None:
    for number in points_of(kind):
        check_resumed(kind, number)


@pytest.mark.slow
@of_each_kind
def test_a_run_killed_at_any_step_is_finished_by_the_next_owner(kind: Kind) -> None:
    for number in range(len(steps_of(kind))):
        check_resumed(kind, number)


def _inputs_change(shop: Shop) -> None:
    shop.lake.append(ORDERS, [order(31, 1)])
    shop.lake.append(CUSTOMERS, [customer(8)])


def _inputs_optimized(shop: Shop) -> None:
    for place in (ORDERS, CUSTOMERS):
        shop.lake.optimize(place)


def _vacuum(shop: Shop) -> None:
    """An input has a newer version, and the one that is pinned is gone."""
    shop.lake.append(ORDERS, [order(32, 2)])
    _cleaned(shop)


def _cleaned(shop: Shop) -> None:
    """Only the newest version of each input can be read."""
    for place in (ORDERS, CUSTOMERS):
        table = shop.lake.table(place)
        table.oldest = len(table.versions) - 1


Disturbance = Callable[[Shop], None]
DISTURBANCES: dict[str, Disturbance] = {
    "foreign insert": lambda shop: shop.lake.append(TARGET, [shop.lake.rows(TARGET)[0] | {"k": 77}]),
    "foreign delete": lambda shop: shop.lake.rewrite(TARGET, lambda row: None if row["k"] in (1, 2) else row),
    "restore": lambda shop: shop.lake.restore(TARGET, 1),
    "target optimized": lambda shop: shop.lake.optimize(TARGET),
    "inputs change": _inputs_change,
    "inputs optimized": _inputs_optimized,
    "log of inputs cleaned": _cleaned,
    "vacuum": _vacuum,
    "input with another column": lambda shop: shop.lake.reshape(
        ORDERS, (*shop.lake.table(ORDERS).newest.columns, Column(name="more", type="int"))
    ),
}


def _at(number: int, act: Callable[[], object]) -> Callable[[int], None]:
    def disturb(before: int) -> None:
        if before == number:
            act()

    return disturb


def check_disturbed(kind: Kind, what: str, number: int) -> None:
    shop = kind.shop()
    with counted(shop.lake, _at(number, lambda: DISTURBANCES[what](shop))), suppress(RefreshError):
        shop.refreshes.run(NAME, ONE)
    settle(shop)


def check_disturbed_and_resumed(kind: Kind, what: str, number: int) -> None:
    shop = killed_at(kind, number)
    DISTURBANCES[what](shop)
    shop.next_owner()
    settle(shop)


of_each_disturbance = pytest.mark.parametrize("what", DISTURBANCES)
_DISTURBED = ("several chunks", "from files", "added up", "partitions replaced")
of_some_kinds = pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind.name in _DISTURBED], ids=lambda k: k.name
)


@of_each_disturbance
def test_what_others_do_meanwhile_is_seen_by_this_refresh_or_the_next(what: str) -> None:
    for kind in (kind for kind in KINDS if kind.name in ("several chunks", "partitions replaced")):
        for number in points_of(kind):
            check_disturbed(kind, what, number)


@of_each_disturbance
def test_what_others_do_before_a_killed_run_is_resumed_is_seen(what: str) -> None:
    for number in points_of(KINDS[0]):
        check_disturbed_and_resumed(KINDS[0], what, number)


@pytest.mark.slow
@of_some_kinds
@of_each_disturbance
def test_what_others_do_at_any_step_is_seen(kind: Kind, what: str) -> None:
    for number in range(len(steps_of(kind))):
        check_disturbed(kind, what, number)
        check_disturbed_and_resumed(kind, what, number)
