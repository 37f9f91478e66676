"""A refresh whose phases are tasks of their own: ordered well, repeated, cut off, disturbed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from airflow_refresh_provider.cli.sheets import line, sheet
from airflow_refresh_provider.core.inputs import Input
from airflow_refresh_provider.core.owner import PARKED_FOR
from airflow_refresh_provider.core.recovery import OnInterrupted
from airflow_refresh_provider.core.request import IfRunning, Request
from airflow_refresh_provider.core.results import Outcome, RunResult, Started, UnitOfWork
from airflow_refresh_provider.errors import Failed, Lost, Refused, Retry
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.twins import MemoryProcesses
from airflow_refresh_provider.runner import phases
from airflow_refresh_provider.runner.cascade import pinned
from airflow_refresh_provider.runner.refreshes import Refreshes
from tests.unit.runner.faults import POINTS, Killed, at, disconnected
from tests.unit.runner.world import INPUT, NAME, ONE, World, row

MINE = Request(origin="dag/one")
OTHER = Request(origin="dag/two")
BY_VNODE = {
    "layout": "vnode",
    "vnodes": 4,
    "visibility": "live",
    "chunking": {"one_commit_up_to": 1, "chunk_rows": 1},
}
PLAIN: dict[str, Any] = {}


def changed(**options: Any) -> World:
    """A refreshed target whose input has moved since."""
    world = World(*[row(i) for i in range(9)], **options)
    world.run()
    world.become(*[row(i, "b") for i in range(1, 10)])
    return world


def started(world: World, request: Request = MINE) -> Started:
    found = phases.start(world.process(), NAME, request)
    assert isinstance(found, Started)
    return found


def loaded(world: World, request: Request = MINE) -> tuple[UnitOfWork, ...]:
    return phases.fill(world.process(), NAME, request)


def merged(world: World, unit: UnitOfWork, request: Request = MINE) -> int:
    return phases.merge_unit(world.process(), NAME, request, unit.unit)


def finished(world: World, request: Request = MINE) -> RunResult:
    return phases.finish(world.process(), NAME, request)


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
    assert (result.run_id, result.state, result.resumed) == (run_id, Outcome.SUCCEEDED, False)
    assert result.reason is None
    assert result.rows.updated == 8
    assert world.fresh()


def test_nothing_to_do_is_a_result() -> None:
    world = World(row(1))
    world.run()
    found = phases.start(world.process(), NAME, MINE)
    assert isinstance(found, RunResult)
    assert found.state is Outcome.NOTHING_TO_DO


def test_seconds_are_those_of_the_run_whoever_did_its_phases() -> None:
    world = changed()
    started(world)
    for unit in loaded(world):
        merged(world, unit)
    last = world.process()
    last.clock.sleep(90)
    assert phases.finish(last, NAME, MINE).seconds == 90
    [entry, first] = world.refreshes.history(NAME)
    assert entry.result is not None
    assert (entry.result.seconds, first.result and first.result.seconds) == (90, 0)
    [told] = world.refreshes.freshness(NAME)
    assert told.ready_in_seconds == 45


def test_between_two_phases_nobody_else_takes_the_run() -> None:
    world = changed()
    started(world)
    for request in (ONE, OTHER):
        with pytest.raises(
            Refused, match=r"refreshed by the tasks of dag/one: .* for them until 2024-01-01 01:00:0"
        ) as e:
            world.another(request)
        assert "switch it on" in e.value.next
        assert "--" not in e.value.next.replace("--follow", "")
    assert world.another(Request(if_running=IfRunning.SKIP)).state is Outcome.NOTHING_TO_DO
    assert [r.action for r in world.refreshes.recover()] == ["live"]
    loaded(world)
    with pytest.raises(Refused):
        world.another()


def test_who_looks_sees_whom_a_run_is_kept_for_and_until_when() -> None:
    world = changed(**BY_VNODE)
    started(world)
    waiting = world.refreshes.show(NAME)
    assert waiting.run is not None
    assert (waiting.run.live, waiting.run.origin) == (False, "dag/one")
    assert waiting.run.kept_until == world.interrupted.lease.parked_until
    assert "between two tasks of dag/one, kept until 2024-01-01 01:00:0" in str(sheet(waiting).rows)
    assert str(line(waiting)["run"]).endswith("between two tasks")
    unit, *_ = loaded(world)
    with at(world.lake, "begin /gold"), pytest.raises(Killed):
        merged(world, unit)
    assert "held by tasks of dag/one" in str(sheet(world.refreshes.show(NAME)).rows)


def test_a_run_whose_deadline_has_passed_is_anyones() -> None:
    world = changed()
    started(world)
    later = world.process()
    later.clock.sleep(PARKED_FOR.total_seconds() + 1)
    left = Refreshes(later).show(NAME)
    assert left.run is not None
    assert left.run.kept_until is None
    assert str(line(left)["run"]).endswith("interrupted")
    assert Refreshes(later).run(NAME, ONE).resumed
    assert world.fresh()
    with pytest.raises(Lost):
        loaded(world)


def test_merging_a_unit_keeps_the_run_parked_for_as_long_again() -> None:
    world = changed(**BY_VNODE)
    started(world)
    first, *_ = loaded(world)
    later = world.process()
    later.clock.sleep(PARKED_FOR.total_seconds() - 1)
    phases.merge_unit(later, NAME, MINE, first.unit)
    latest = world.process()
    latest.clock.sleep(PARKED_FOR.total_seconds() + 1)
    with pytest.raises(Refused):
        Refreshes(latest).run(NAME, ONE)


def test_a_run_whose_origin_has_ended_is_anyones_at_once() -> None:
    world = changed(**BY_VNODE)
    started(world)
    first, *_ = loaded(world)
    merged(world, first)
    other = world.process()
    assert isinstance(other.processes, MemoryProcesses)
    other.processes.ended.add("dag/one")
    result = Refreshes(other).run(NAME, OTHER)
    assert (result.resumed, result.chunks.skipped) == (True, first.chunks)
    assert world.fresh()


@pytest.mark.parametrize("phase", [started, loaded, lambda world: merged(world, loaded(world)[0]), finished])
def test_a_phase_that_comes_again_changes_nothing(phase: Callable[[World], object]) -> None:
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


def test_an_end_that_comes_again_tells_what_was_published() -> None:
    world = changed(**BY_VNODE)
    started(world)
    for unit in loaded(world):
        merged(world, unit)
    told = finished(world)
    again = finished(world)
    assert again.model_copy(update={"stages": {}, "seconds": 0}) == told.model_copy(update={"stages": {}, "seconds": 0})
    world.become(row(1, "c"))
    world.another()
    with pytest.raises(Lost):
        finished(world)


def test_a_run_that_reads_other_versions_than_were_asked_for_is_finished_before_the_one_that_was() -> None:
    world = changed(**BY_VNODE)
    started(world)
    first, *_ = loaded(world)
    merged(world, first)
    world.lake.append(INPUT, [row(20, "c")])
    wanted = OTHER.model_copy(update={"pins": pinned(world.ports, [("x", Input(path=INPUT))])})
    begun = phases.start(ended(world, "dag/one"), NAME, wanted)
    assert isinstance(begun, Started)
    assert not begun.resumed
    before = world.record.published
    assert before and before.run_id != begun.run_id
    assert world.interrupted.plan.pins["x"] == wanted.pins[INPUT] != before.pins["x"]
    for unit in loaded(world, wanted):
        merged(world, unit, wanted)
    assert finished(world, wanted).rows.inserted == 1
    assert world.fresh()


def ended(world: World, origin: str) -> Ports:
    """A new process that knows an origin to be over."""
    ports = world.process()
    assert isinstance(ports.processes, MemoryProcesses)
    ports.processes.ended.add(origin)
    return ports


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
        again(lambda ports: phases.start(ports, NAME, MINE))
        again(lambda ports: phases.fill(ports, NAME, MINE))
        units = again(lambda ports: phases.fill(ports, NAME, MINE))
        assert isinstance(units, tuple)
        for unit in units:
            again(lambda ports, unit=unit: phases.merge_unit(ports, NAME, MINE, unit.unit))  # type: ignore[misc]
        again(lambda ports: _ended(ports, world))
    assert world.fresh()
    assert sum(c.net_rows or 0 for c in world.commits) == len(world.source())


def _ended(ports: Ports, world: World) -> object:
    """The last phase; one whose run is over has nothing left to do."""
    try:
        return phases.finish(ports, NAME, MINE)
    except Lost:
        assert world.record.run is None
        return None


def test_the_owner_of_a_unit_who_was_replaced_writes_nothing() -> None:
    world = changed(**BY_VNODE)
    started(world)
    unit = loaded(world)[0]
    old = world.process()
    world.lake.step = _once("begin /gold", lambda: merged(world, unit))
    with pytest.raises(Lost):
        phases.merge_unit(old, NAME, MINE, unit.unit)
    for other in loaded(world):
        merged(world, other)
    finished(world)
    assert world.fresh()


def test_an_end_that_comes_too_early_publishes_nothing() -> None:
    world = changed(**BY_VNODE)
    published = world.record.published
    started(world)
    loaded(world)
    with pytest.raises(Retry, match="not wholly in the target"):
        finished(world)
    assert world.record.published == published
    assert world.another().resumed
    assert world.fresh()


def test_an_end_without_a_load_publishes_nothing() -> None:
    world = changed()
    published = world.record.published
    started(world)
    with pytest.raises(Retry, match="has not been loaded"):
        finished(world)
    assert world.record.published == published


def test_an_interrupted_run_is_left_to_anyone_with_its_old_owners_shut_out() -> None:
    world = changed(**BY_VNODE)
    started(world)
    units = loaded(world)
    merged(world, units[0])
    with at(world.lake, "commit /gold", disconnected), pytest.raises(Retry):
        merged(world, units[1])
    assert phases.interrupt(world.process(), NAME, MINE)
    with pytest.raises(Lost):
        merged(world, units[2])
    result = world.another()
    assert (result.resumed, result.chunks.skipped) == (True, units[0].chunks)
    assert world.fresh()
    assert not phases.interrupt(world.process(), NAME, MINE)


def test_a_restart_gives_up_the_run_of_others_and_never_ones_own() -> None:
    world = changed(**BY_VNODE)
    theirs = started(world, OTHER).run_id
    assert phases.interrupt(world.process(), NAME, OTHER)
    restart = MINE.model_copy(update={"on_interrupted": OnInterrupted.RESTART})
    mine = started(world, restart).run_id
    assert mine != theirs
    for unit in loaded(world, restart):
        merged(world, unit, restart)
    with at(world.lake, "begin /gold"), pytest.raises(Killed):
        finished(world, restart)
    assert finished(world, restart).run_id == mine
    assert world.fresh()


def test_the_run_of_somebody_else_is_not_interrupted() -> None:
    world = changed()
    started(world, OTHER)
    assert not phases.interrupt(world.process(), NAME, MINE)
    loaded(world, OTHER)


def test_what_others_wrote_during_the_phases_is_repaired_at_the_end() -> None:
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


def test_inputs_that_move_between_phases_wait_for_the_next_refresh() -> None:
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


def test_a_task_for_a_unit_that_the_run_does_not_have_touches_nothing() -> None:
    world = changed()
    started(world)
    loaded(world)
    generation = world.record.generation
    with pytest.raises(Lost):
        merged(world, UnitOfWork(unit=31, chunks=1, rows=1))
    assert world.record.generation == generation


def test_a_unit_that_cannot_read_its_inputs_any_more_has_the_run_given_up() -> None:
    world = changed(**BY_VNODE)
    started(world)
    first, *_ = loaded(world)
    gone = Failed("input_missing", "x has no files any more", left="as it was", next="restore them")
    with at(world.lake, "begin /gold", lambda: gone), pytest.raises(Failed):
        merged(world, first)
    assert phases.interrupt(world.process(), NAME, MINE)
    assert world.record.run is None
    world.another()
    assert world.fresh()
