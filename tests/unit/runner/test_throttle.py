"""A throttle: units wait between their chunks, and see a command while they do."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from threading import Barrier
from typing import Any

import pytest

from airflow_refresh_provider.core.plan.plan import Unit
from airflow_refresh_provider.core.run.prepared import frozen
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import Outcome
from airflow_refresh_provider.errors import Lost, Paused
from airflow_refresh_provider.ports.watch import Silent
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.runner.report.run_details import run_detail
from airflow_refresh_provider.runner.steps.pacing import POLL_SECONDS
from airflow_refresh_provider.testing.memory_ports import MemoryClock, MemoryHeart
from tests.unit.runner.disturbed import LIVE, changed
from tests.unit.runner.phased import BY_VNODE
from tests.unit.runner.world import NAME, World, row


class Listening(MemoryClock):
    """A clock that hears how long is waited, and acts once in the first wait."""

    def __init__(self, act: Callable[[], object] = lambda: None) -> None:
        super().__init__()
        self.waits: list[float] = []
        self.act: Callable[[], object] | None = act

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        self.waits.append(seconds)
        if self.act:
            act, self.act = self.act, None
            act()


class Heard(Silent):
    """A watch that keeps its notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, message: str) -> None:
        self.notes.append(message)


def listening(world: World, act: Callable[[], object] = lambda: None) -> tuple[Refreshes, Listening, Heard]:
    clock, watch = Listening(act), Heard()
    return Refreshes(replace(world.process(), clock=clock, watch=watch)), clock, watch


def chunks(world: World) -> int:
    return sum('"kind":"chunk"' in (commit.note or "") for commit in world.commits)


def test_a_unit_waits_between_its_chunks_for_the_rate_of_the_definition() -> None:
    world = changed(**LIVE, throttle=1)
    before = chunks(world)
    refreshes, clock, watch = listening(world)
    result = refreshes.run(NAME, Request(workers=1))
    rows = result.rows.inserted + result.rows.updated + result.rows.deleted
    last = max(1, rows - int(sum(clock.waits)))
    assert (result.outcome, result.chunks.done) == (Outcome.SUCCEEDED, chunks(world) - before)
    assert sum(clock.waits) == rows - last and last <= 2, "a second for each row but those of the last chunk"
    assert len([note for note in watch.notes if note.startswith("throttled to 1 row a second")]) == 1
    assert world.fresh()


def large() -> World:
    """A throttled definition whose chunks each have at least twenty changed rows."""
    chunking = {"chunking": {"one_commit_up_to": 1, "chunk_rows": 20}}
    world = World(*[row(i) for i in range(100)], **LIVE | chunking)
    world.run()
    world.become(*[row(i, "b") for i in range(100)])
    world.refreshes.throttle(NAME, 1)
    return world


def test_each_long_wait_is_noted() -> None:
    refreshes, clock, watch = listening(large())
    chunks_done = refreshes.run(NAME, Request(workers=1)).chunks.done
    assert len([note for note in watch.notes if "throttled" in note]) == chunks_done - 1 > 1
    assert max(clock.waits) == POLL_SECONDS


def test_the_time_that_a_chunk_took_counts() -> None:
    world = changed(**LIVE, throttle=1)
    refreshes, clock, _ = listening(world)
    world.lake.step = lambda what: MemoryClock.sleep(clock, 0.75) if what.startswith("commit /gold") else None
    refreshes.run(NAME, Request(workers=1))
    assert set(clock.waits) <= {0.25, 1.25} and 0.25 in clock.waits


def test_without_a_throttle_nothing_waits() -> None:
    world = changed(**LIVE)
    refreshes, clock, _ = listening(world)
    refreshes.run(NAME, Request(workers=1))
    assert clock.waits == []


@pytest.mark.parametrize("limit", [0, 1_000_000])
def test_another_limit_is_effective_while_a_unit_waits(limit: int) -> None:
    world = changed(**LIVE | {"chunking": {"one_commit_up_to": 1, "chunk_rows": 1}}, throttle=1)
    world.refreshes.throttle(NAME, None)
    steer = Refreshes(world.process())
    refreshes, clock, _ = listening(world, lambda: steer.throttle(NAME, limit))
    assert refreshes.run(NAME, Request(workers=1)).outcome is Outcome.SUCCEEDED
    assert sum(clock.waits) < 1.01


def test_a_throttle_by_command_reaches_a_run_in_progress_at_its_next_chunk() -> None:
    world = changed(**LIVE)
    steer, seen = Refreshes(world.process()), []
    refreshes, clock, _ = listening(world)

    def step(what: str) -> None:
        if what.startswith("commit /gold"):
            seen.append(what)
            if len(seen) == 2:
                steer.throttle(NAME, 1)

    world.lake.step = step
    result = refreshes.run(NAME, Request(workers=1))
    assert clock.waits and len(clock.waits) == result.chunks.done - 2


def test_a_pause_ends_a_wait() -> None:
    world = changed(**LIVE, throttle=1)
    world.refreshes.throttle(NAME, None)
    slow = world.record.definition.model_copy(update={"throttle": None})
    world.refreshes.register(slow)
    world.refreshes.throttle(NAME, 1)
    steer = Refreshes(world.process())
    refreshes, clock, _ = listening(world, lambda: steer.pause(NAME))
    with pytest.raises(Paused):
        refreshes.run(NAME, Request(workers=1))
    assert len(clock.waits) == 1
    steer.resume(NAME)
    assert world.another().outcome is Outcome.SUCCEEDED


def test_a_wait_ends_when_another_owner_has_taken_the_run() -> None:
    world = changed(**LIVE, throttle=1)

    def taken() -> None:
        steer = Refreshes(world.process())
        steer.throttle(NAME, 0)
        steer.run(NAME, Request(workers=1, take_over=True))

    refreshes, clock, _ = listening(world, taken)
    with pytest.raises(Lost):
        refreshes.run(NAME, Request(workers=1))
    assert len(clock.waits) == 1 and world.fresh()


def test_a_budget_that_ends_in_a_wait_stops_the_run() -> None:
    world = large()
    refreshes, clock, _ = listening(world)
    result = refreshes.run(NAME, Request(workers=1, budget_seconds=3))
    assert (result.outcome, result.chunks.done, sum(clock.waits)) == (Outcome.BUDGET_SPENT, 1, 2 * POLL_SECONDS)


class Beating:
    """A heart that says whether a run is beating, and of which units."""

    def __init__(self, heart: Any) -> None:
        self._heart, self.now = heart, list[int | None]()

    def waits(self, run_id: str, unit: int, until: Any) -> None:
        self._heart.waits(run_id, unit, until)

    @contextmanager
    def beating(
        self, name: str, run_id: str, unit: int | None, generation: int, interrupt: Callable[[], object]
    ) -> Any:
        with self._heart.beating(name, run_id, unit, generation, interrupt):
            self.now.append(unit)
            try:
                yield
            finally:
                self.now.remove(unit)


def test_an_owner_gives_signs_of_life_while_it_waits() -> None:
    world = changed(**LIVE, throttle=1)
    refreshes, clock, _ = listening(world)
    heart, seen = Beating(refreshes.ports.heart), []
    clock.act = lambda: seen.append(tuple(heart.now))
    Refreshes(replace(refreshes.ports, heart=heart)).run(NAME, Request(workers=1))
    assert seen == [(None,)]


def test_other_processes_see_until_when_a_unit_waits_by_the_beats_that_are_sent_anyway() -> None:
    world = large()
    other, found = Refreshes(world.process()), list[Any]()

    def look() -> None:
        assert isinstance(refreshes.ports.heart, MemoryHeart)
        refreshes.ports.heart.beat()
        run_id = world.interrupted.run_id
        found.extend([other.progress(NAME).waits, run_detail(other.ports, NAME, run_id).waits, clock.now()])

    refreshes, clock, _ = listening(world)
    other.ports = replace(other.ports, clock=clock)
    heart = MemoryHeart(refreshes.ports.store, clock)
    refreshes = Refreshes(replace(refreshes.ports, heart=heart))
    clock.act = look
    refreshes.run(NAME, Request(workers=1))
    by_progress, by_page, at = found
    assert by_progress == by_page and set(by_progress) == {0}
    assert by_progress[0] - at > timedelta(seconds=10)
    assert other.progress(NAME).waits == {}


def test_a_unit_that_is_paused_in_its_wait_waits_no_more() -> None:
    world = large()
    other = Refreshes(world.process())
    refreshes, clock, _ = listening(world)
    heart = MemoryHeart(refreshes.ports.store, clock)
    refreshes = Refreshes(replace(refreshes.ports, heart=heart))
    other.ports = replace(other.ports, clock=clock)

    def act() -> None:
        heart.beat()
        other.pause(NAME)

    clock.act = act
    with pytest.raises(Paused):
        refreshes.run(NAME, Request(workers=1))
    assert other.progress(NAME).waits == {}


def test_parallel_units_share_the_limit() -> None:
    world = World(*[row(i) for i in range(9)], **BY_VNODE)
    world.run()
    world.become(*[row(i, "b") for i in range(1, 10)])
    world.refreshes.throttle(NAME, 1)
    refreshes, _, watch = listening(world)
    both, waiting = Barrier(2, timeout=20), [1, 2]
    plans: list[tuple[Unit, ...]] = []

    def step(what: str) -> None:
        if what.startswith("begin /gold") and waiting:
            waiting.pop()
            plans.append(frozen(world.interrupted).current.units)
            both.wait()

    world.lake.step = step
    assert refreshes.run(NAME, Request(workers=2)).outcome is Outcome.SUCCEEDED
    rows = {u.slot: next(n for c in u.chunks if (n := c.counts.total)) for u in plans[0]}
    first = next(note for note in watch.notes if "throttled" in note)
    assert first in {
        f"throttled to 1 row a second: unit {u} waits {2 * n} s before its next chunk" for u, n in rows.items()
    }


def test_units_that_follow_each_other_are_throttled_although_each_has_one_chunk() -> None:
    world = World(*[row(i) for i in range(9)], **BY_VNODE)
    world.run()
    world.become(*[row(i, "b") for i in range(1, 10)])
    world.refreshes.throttle(NAME, 1)
    plans: list[tuple[Unit, ...]] = []
    refreshes, clock, _ = listening(world, lambda: plans.append(frozen(world.interrupted).current.units))
    refreshes.run(NAME, Request(workers=1))
    planned = [[c.counts.total for c in u.chunks] for u in plans[0]]
    assert [len(unit) for unit in planned].count(1) > 1, planned
    assert sum(clock.waits) == sum(map(sum, planned[:-1])) + sum(planned[-1][:-1])
