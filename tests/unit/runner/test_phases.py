"""A refresh whose phases are tasks: in order, repeated, interrupted, disturbed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from airflow_refresh_provider.core.run.results import Outcome, RunResult, UnitOfWork
from airflow_refresh_provider.errors import Failed, Lost, Retry
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.runner.steps import one_task
from tests.unit.runner.faults import POINTS, Killed, at, disconnected
from tests.unit.runner.phased import BY_VNODE, MINE, OTHER, PLAIN, changed, finished, loaded, merged, started
from tests.unit.runner.world import INPUT, NAME, RESTART, TARGET, World, row


@pytest.mark.parametrize("options", [PLAIN, BY_VNODE], ids=["plain", "vnodes"])
def test_phases_in_order_are_one_refresh(options: dict[str, Any]) -> None:
    world = changed(**options)
    run_id = started(world).run_id
    units = loaded(world)
    assert len(units) == (4 if options else 1)
    assert sum(unit.rows for unit in units) == 10
    for unit in reversed(units):
        assert merged(world, unit) == 0
    result = finished(world)
    assert (result.run_id, result.outcome, result.resumed) == (run_id, Outcome.SUCCEEDED, False)
    assert result.reason is None
    assert result.rows.updated == 8
    assert world.fresh()


def test_the_end_of_a_run_that_was_started_again_and_not_loaded_fails_and_keeps_the_run() -> None:
    world = changed()
    published = world.record.published
    started(world)
    with pytest.raises(Failed) as caught:
        finished(world)
    assert caught.value.code == "not_loaded" and world.interrupted.lease.parked_until
    assert world.record.published == published
    (unit,) = loaded(world)
    merged(world, unit)
    assert finished(world).outcome is Outcome.SUCCEEDED and world.fresh()


def test_nothing_to_do_is_a_result() -> None:
    world = World(row(1))
    world.run()
    found = one_task.start(world.process(), NAME, MINE)
    assert isinstance(found, RunResult)
    assert found.outcome is Outcome.NOTHING_TO_DO


def test_seconds_are_those_of_the_run_over_all_its_phases() -> None:
    world = changed()
    started(world)
    for unit in loaded(world):
        merged(world, unit)
    last = world.process()
    last.clock.sleep(90)
    assert one_task.finish(last, NAME, MINE).seconds == 90
    [entry, first] = world.refreshes.history(NAME)
    assert entry.result is not None
    assert (entry.result.seconds, first.result and first.result.seconds) == (90, 0)
    [report] = world.refreshes.freshness(NAME)
    assert report.expected_seconds == 90, "the first load is not counted"


@pytest.mark.parametrize("phase", [started, loaded, lambda world: merged(world, loaded(world)[0]), finished])
def test_a_repeated_phase_changes_nothing(phase: Callable[[World], object]) -> None:
    world = changed(**BY_VNODE)
    run_id = started(world).run_id
    for unit in loaded(world):
        merged(world, unit)
    phase(world)
    if phase is not finished:
        phase(world)
        assert world.interrupted.run_id == run_id
        assert [merged(world, unit) for unit in loaded(world)] == [unit.chunks for unit in loaded(world)]
    assert finished(world).run_id == run_id
    assert world.fresh()


def test_a_repeated_end_returns_what_was_published() -> None:
    world = changed(**BY_VNODE)
    started(world)
    for unit in loaded(world):
        merged(world, unit)
    first = finished(world)
    again = finished(world)
    assert again.model_copy(update={"stages": {}, "seconds": 0}) == first.model_copy(
        update={"stages": {}, "seconds": 0}
    )
    world.become(row(1, "c"))
    world.another()
    with pytest.raises(Lost):
        finished(world)


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("nth", [1, 2, 3])
@pytest.mark.parametrize("alive", [True, False], ids=["still there", "dead"])
def test_a_phase_that_is_killed_is_repeated(point: str, nth: int, alive: bool) -> None:
    world = changed(**BY_VNODE)

    def again(phase: Callable[[Ports], object]) -> object:
        """Repeat a phase in a new process, as a scheduler does, until it ends."""
        while True:
            ports = world.process()
            try:
                return phase(ports)
            except Killed:
                if not alive:
                    world.die(ports)

    with at(world.lake, point, nth=nth):
        again(lambda ports: one_task.start(ports, NAME, MINE))
        again(lambda ports: one_task.fill(ports, NAME, MINE))
        units = again(lambda ports: one_task.fill(ports, NAME, MINE))
        assert isinstance(units, tuple)
        for unit in units:
            again(lambda ports, unit=unit: one_task.merge_unit(ports, NAME, MINE, unit.unit))  # type: ignore[misc]
        again(lambda ports: one_task.finish(ports, NAME, MINE))
    assert world.fresh()
    assert sum(c.net_rows or 0 for c in world.commits) == len(world.source())


def test_the_replaced_owner_of_a_unit_writes_nothing() -> None:
    world = changed(**BY_VNODE)
    started(world)
    unit = loaded(world)[0]
    before = len(world.commits)

    def replaced() -> None:
        """By an owner that dies before it reads the target: only its fence stops the commit that is under way."""
        with at(world.lake, "read facts /gold"), pytest.raises(Killed):
            merged(world, unit)

    world.lake.step = _once("commit /gold", replaced)
    with pytest.raises(Lost):
        merged(world, unit)
    assert not any(commit.data_change for commit in world.commits[before:])
    for each in loaded(world):
        merged(world, each)
    finished(world)
    assert world.fresh()


def test_a_unit_with_a_gap_in_the_log_raises_log_gap() -> None:
    world = changed(**BY_VNODE)
    started(world)
    unit = loaded(world)[0]
    target = world.lake.table(TARGET)
    world.lake.step = _once("answer /gold", lambda: setattr(target, "oldest", len(target.versions)))
    with pytest.raises(Retry) as caught:
        merged(world, unit)
    assert caught.value.code == "log_gap"
    for each in loaded(world):
        merged(world, each)
    with pytest.raises(Retry) as caught:
        finished(world)
    assert caught.value.code == "log_gap"
    assert not world.another().resumed
    assert world.fresh()


def test_an_end_before_all_chunks_publishes_nothing() -> None:
    world = changed(**BY_VNODE)
    published = world.record.published
    started(world)
    loaded(world)
    with pytest.raises(Failed, match="chunks that are not in the target"):
        finished(world)
    assert world.record.published == published
    assert world.another().resumed
    assert world.fresh()


def test_foreign_writes_during_the_phases_are_repaired_at_the_end() -> None:
    world = changed(**BY_VNODE)
    started(world)
    for unit in loaded(world):
        merged(world, unit)
    world.lake.rewrite(world.record.definition.target, lambda r: r | {"v": "foreign"} if r["k"] == 3 else r)
    finished(world)
    assert world.fresh()


def test_a_run_that_was_sealed_is_only_published_by_its_last_phase() -> None:
    world = changed(**BY_VNODE)
    started(world)
    for unit in loaded(world):
        merged(world, unit)
    with at(world.lake, "answer /gold", disconnected):
        finished(world)
    assert sum(any(a.endswith("/seal") for a in c.txns) for c in world.commits) == 2
    assert world.fresh()


def test_a_run_that_its_only_chunk_has_sealed_is_published_without_spark() -> None:
    world = changed()
    started(world)
    [unit] = loaded(world)
    merged(world, unit)
    with at(world.lake, "open session", disconnected):
        finished(world)
    assert world.fresh()


def test_input_changes_between_phases_wait_for_the_next_refresh() -> None:
    world = changed()
    started(world)
    world.lake.append(INPUT, [row(99)])
    for unit in loaded(world):
        merged(world, unit)
    finished(world)
    assert row(99) not in world.target()
    assert world.another().rows.inserted == 1
    assert world.fresh()


def _once(what: str, act: Callable[[], object]) -> Callable[[str], None]:
    done: list[str] = []

    def step(name: str) -> None:
        if name.startswith(what) and not done:
            done.append(name)
            act()

    return step


def test_a_task_for_an_unknown_unit_changes_nothing() -> None:
    world = changed()
    started(world)
    loaded(world)
    generation = world.record.generation
    with pytest.raises(Lost):
        merged(world, UnitOfWork(unit=31, chunks=1, rows=1))
    assert world.record.generation == generation


def _published(world: World) -> None:
    for unit in loaded(world):
        merged(world, unit)
    finished(world)
    world.become(row(1, "c"))
    world.another()


def _abandoned(world: World) -> None:
    one_task.interrupt(world.process(), NAME, MINE)
    world.another(RESTART)


def _taken_over(world: World) -> None:
    one_task.interrupt(world.process(), NAME, MINE)
    started(world, OTHER)


def _started_again(world: World) -> None:
    _published(world)
    world.become(row(1, "d"))
    started(world)


@pytest.mark.parametrize(
    ("ended", "again"),
    [
        *((ended, again) for ended in (_published, _abandoned, _taken_over) for again in ("load", "merge", "finish")),
        (_started_again, "merge"),
    ],
)
def test_a_task_without_a_run_says_so(ended: Callable[[World], None], again: str) -> None:
    world = changed(**BY_VNODE)
    started(world)
    unit, *_ = loaded(world)
    ended(world)
    generation, commits = world.record.generation, len(world.commits)
    tasks: dict[str, Callable[[], object]] = {
        "load": lambda: loaded(world),
        "merge": lambda: merged(world, unit),
        "finish": lambda: finished(world),
    }
    with pytest.raises(
        Lost, match=r"the run of orders for dag/one has finished or was abandoned, released or taken"
    ) as caught:
        tasks[again]()
    assert caught.value.code == "run_ended"
    assert "from `start` on" in caught.value.next
    assert (world.record.generation, len(world.commits)) == (generation, commits)
