"""Comparisons that only read rows of buckets whose checksum is not that of the published rows."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from airflow_refresh_provider.core.changes.pins import DeltaPin
from airflow_refresh_provider.core.definition.mode import Mode
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import Outcome, Rows, RunResult
from airflow_refresh_provider.errors import RefreshError
from airflow_refresh_provider.runner.refreshes import Refreshes
from tests.unit.runner.disturbed import LIVE
from tests.unit.runner.faults import POINTS, Killed, at
from tests.unit.runner.world import FORCE, INPUT, NAME, ONE, RESTART, TARGET, World, ordered, row

FULL: dict[str, Any] = {"mode": "full"}
MANY = [row(k) for k in range(250)]
ONE_CHANGED = Rows(updated=1, unchanged=len(MANY) - 1)


def change(world: World, k: int, v: str) -> None:
    world.lake.rewrite(INPUT, lambda r: r | {"v": v} if r["k"] == k else r)


def compared(world: World, k: int) -> RunResult:
    """A refresh after one row of the input has changed."""
    change(world, k, f"changed {len(world.commits)}")
    return world.run()


def rot(world: World, k: int) -> None:
    """Change a row of the target without a commit: where it is not read, that is not found."""
    for rows in world.lake.table(TARGET).newest.files.values():
        for stored in rows:
            stored["v"] = "rotten" if stored["k"] == k else stored["v"]


def with_checksums(**options: Any) -> World:
    """A definition whose refreshes have compared everything, and have found one row each."""
    world = World(*MANY, **FULL | options)
    world.run()
    for k in range(2):
        compared(world, k)
    return world


def codes(result: RunResult) -> list[str]:
    return [notice.code for notice in result.notices]


def kept(world: World) -> str | None:
    published = world.record.published
    return published.checksums.location if published and published.checksums else None


def folders(world: World) -> list[str]:
    return [place for place in world.lake.tables if "/checksums-" in place]


def test_checksums_are_made_once_a_comparison_has_found_few_changes() -> None:
    world = World(*MANY, **FULL)
    world.run()
    compared(world, 0)
    assert kept(world) is None
    compared(world, 1)
    assert folders(world) == [kept(world)]
    assert world.fresh()


def test_only_rows_of_buckets_that_differ_are_compared() -> None:
    world = with_checksums()
    before = kept(world)
    rot(world, 50)
    result = compared(world, 2)
    assert (result.rows, codes(result)) == (ONE_CHANGED, ["compared_by_checksums"])
    assert [r for r in world.target() if r["v"] == "rotten"] == [row(50, "rotten")]
    assert kept(world) not in (None, before)
    assert folders(world) == [kept(world)]


def test_a_refresh_that_finds_no_difference_compares_no_row() -> None:
    world = with_checksums()
    world.become(*world.source())
    result = world.run()
    assert (result.outcome, result.rows) == (Outcome.SUCCEEDED, Rows(unchanged=len(MANY)))
    assert result.notices[0].message.startswith("0 of 250 rows were compared with the target")
    assert world.fresh()


@pytest.mark.parametrize(
    "disturb",
    [
        lambda w: w.lake.append(TARGET, [row(999)]),
        lambda w: w.lake.rewrite(TARGET, lambda r: r | {"v": "foreign"} if r["k"] == 7 else r),
        lambda w: w.lake.rewrite(TARGET, lambda r: None if r["k"] == 7 else r),
        lambda w: w.lake.restore(TARGET, 2),
    ],
    ids=["insert", "update", "delete", "restore"],
)
def test_they_are_not_used_once_others_have_written_the_target(disturb: Callable[[World], object]) -> None:
    world = with_checksums()
    disturb(world)
    assert not codes(compared(world, 3))
    assert world.fresh()


def test_who_asks_for_a_comparison_of_everything_gets_it() -> None:
    world = with_checksums()
    rot(world, 50)
    result = world.run(FORCE)
    assert (result.rows, codes(result)) == (ONE_CHANGED, [])
    assert world.fresh() and kept(world) is not None


def test_they_are_not_used_after_a_run_that_was_abandoned() -> None:
    world = with_checksums(**LIVE)
    for k in (10, 11, 12):
        change(world, k, "half")
    with at(world.lake, "begin /gold", nth=2), suppress(Killed):
        world.run()
    world.die(world.ports)
    for k in (10, 11, 12):
        change(world, k, "a")
    world.another(RESTART)
    assert world.fresh()


def test_an_incremental_refresh_leaves_none() -> None:
    world = with_checksums(mode="auto")
    assert kept(world) is None, "changes were followed"
    for k in (20, 21, 22):
        change(world, k, "b")
        assert not codes(world.run(Request(workers=1, mode=Mode.FULL)))
    assert kept(world) is not None
    assert compared(world, 23).mode == "incremental"
    assert kept(world) is None
    assert world.fresh()


def test_where_many_rows_change_none_are_kept() -> None:
    world = with_checksums()
    for k in range(30):
        change(world, k, "b")
    world.run()
    assert world.fresh()
    assert kept(world) is None
    compared(world, 0)
    assert kept(world) is None


@pytest.mark.parametrize(
    "options",
    [{"layout": "vnode", "vnodes": 4}, {"deletes": "ignore"}, {"query": "SELECT k, max(v) AS v FROM x GROUP BY k"}],
    ids=["stored hashes", "rows that the query does not give", "not row-wise"],
)
def test_others_have_none(options: dict[str, Any]) -> None:
    world = with_checksums(**options)
    compared(world, 3)
    assert not folders(world)


def test_where_they_are_gone_everything_is_compared() -> None:
    world = with_checksums()
    world.lake.remove(str(kept(world)))
    assert compared(world, 5).rows == ONE_CHANGED
    assert world.fresh()
    assert kept(world) is not None, "they are made again"


def test_they_follow_a_table_that_grows() -> None:
    world = with_checksums()
    world.lake.append(INPUT, [row(300)])
    world.run()
    assert world.fresh()
    assert kept(world) is not None
    world.lake.rewrite(INPUT, lambda r: None if r["k"] == 300 else r)
    world.run()
    assert world.fresh()


def test_keys_that_occur_twice_are_found() -> None:
    world = with_checksums()
    world.lake.append(INPUT, [row(3, "again")])
    with pytest.raises(RefreshError, match="key"):
        world.run()


def test_a_dropped_definition_leaves_none() -> None:
    world = with_checksums()
    world.refreshes.drop(NAME)
    assert not folders(world)


def test_those_of_a_run_in_progress_are_not_dropped() -> None:
    world = with_checksums()
    change(world, 7, "b")
    with at(world.lake, "begin /gold"), suppress(Killed):
        world.run()
    world.die(world.ports)
    Refreshes(world.process()).recover(None)
    assert world.fresh()
    compared(world, 8)
    assert world.fresh()


class _Life:
    """Refreshes that compare everything, with crashes and other writers in between."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.world = World(*MANY, **FULL, **self.random.choice(({}, LIVE)))
        self.used = 0
        self.world.run()

    def go_on(self, events: int) -> None:
        for _ in range(events):
            self.random.choices((self._change, self._change_many, self._others), (8, 1, 1))[0]()
            self.random.choices((self._refresh, self._die), (4, 1))[0]()
        self._refresh()

    def _change(self) -> None:
        change(self.world, self.random.randrange(250), self.random.choice("abc"))

    def _change_many(self) -> None:
        part = self.random.randrange(4)
        self.world.lake.rewrite(INPUT, lambda r: r | {"v": self.random.choice("abc")} if r["k"] % 4 == part else r)

    def _others(self) -> None:
        k, lake = self.random.randrange(250), self.world.lake
        self.random.choice(
            (
                lambda: lake.rewrite(TARGET, lambda r: r | {"v": "foreign"} if r["k"] == k else r),
                lambda: lake.restore(TARGET, self.random.randrange(1, len(self.world.commits))),
                lambda: lake.optimize(TARGET),
                lambda: lake.remove(str(kept(self.world))),
            )
        )()

    def _refresh(self) -> None:
        self.used += kept(self.world) is not None
        self._another(self.random.choice((ONE, ONE, RESTART)))
        published = self.world.record.published
        assert published is not None
        pin = published.pins["x"]
        assert isinstance(pin, DeltaPin)
        wanted = ordered(self.world.lake.rows(INPUT, pin.version))
        assert self.world.target() == self.world.target(published.version) == wanted

    def _die(self) -> None:
        with at(self.world.lake, self.random.choice(POINTS), nth=self.random.randint(1, 3)), suppress(Killed):
            self._another(ONE)

    def _another(self, request: Request) -> None:
        ports = self.world.process()
        try:
            Refreshes(ports).run(NAME, request)
        finally:
            self.world.die(ports)


def test_what_is_published_is_the_query_whatever_happens() -> None:
    used = 0
    for seed in range(12):
        life = _Life(seed)
        life.go_on(25)
        used += life.used
    assert used > 60
