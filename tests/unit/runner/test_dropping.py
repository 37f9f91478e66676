"""Definitions are dropped in any state; a running owner is stopped if requested, and gets a clear error."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_refresh_provider.core.log.note import NoteKind, read_note
from airflow_refresh_provider.core.run.admin_results import Dropped
from airflow_refresh_provider.core.run.lifecycle import State
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import Outcome
from airflow_refresh_provider.core.run.status import RefreshStatus, status
from airflow_refresh_provider.errors import Invalid, Lost, RefreshError, Refused, Retry
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.runner.steps import one_task
from airflow_refresh_provider.testing.memory_engine import MemoryEngine
from airflow_refresh_provider.views.tables import table_of
from tests.unit.runner.faults import POINTS, Killed, at, disconnected
from tests.unit.runner.world import COLUMNS, NAME, TARGET, World, definition, row

LIVE: dict[str, Any] = {"visibility": "live", "chunking": {"one_commit_up_to": 1, "chunk_rows": 1}}
BY_VNODE = LIVE | {"layout": "vnode", "vnodes": 4}
MINE = Request(origin="dag/one")


def changed(**options: Any) -> World:
    """A refreshed target whose input has changed since."""
    world = World(row(1), row(2), row(3), **(LIVE | options))
    world.run()
    world.become(row(1, "b"), row(3), row(4))
    return world


def interrupted(point: str = "begin /gold", nth: int = 2) -> World:
    world = changed()
    with at(world.lake, point, nth=nth), pytest.raises(Killed):
        world.run()
    world.die(world.ports)
    return world


def drop(world: World, **options: Any) -> Dropped:
    return Refreshes(world.process()).drop(NAME, **options)


def outcomes(world: World) -> list[Outcome]:
    return [entry.outcome for entry in world.refreshes.history(NAME)]


@pytest.mark.parametrize("point", [None, "begin memory://staging", "begin /gold", "answer /gold", "drop memory"])
def test_a_definition_is_dropped_in_any_state_and_its_target_stays(point: str | None) -> None:
    world = interrupted(point, 1) if point else World(row(1))
    before = world.record
    dropped = drop(world)
    published = before.run is not None and before.run.published
    assert dropped.target_deleted is False
    assert (dropped.run_abandoned is not None) == (point is not None and not published)
    assert not world.staged()
    with pytest.raises(Invalid, match="no definition named"):
        world.run()
    world.refreshes.register(definition())
    assert world.record.generation > before.generation
    if point:
        assert outcomes(world) == [Outcome.SUCCEEDED if published else Outcome.ABANDONED, Outcome.SUCCEEDED]
        world.run()
        assert world.fresh()


def test_a_run_that_was_cancelled_and_resumed_is_abandoned_when_its_definition_is_dropped() -> None:
    world = interrupted()
    world.refreshes.cancel(NAME)
    with at(world.lake, "begin /gold"), pytest.raises(Killed):
        world.run()
    assert drop(world, stop=True).run_abandoned
    assert outcomes(world) == [Outcome.ABANDONED, Outcome.SUCCEEDED]


def test_dropping_deletes_the_target_only_on_request_and_only_its_own() -> None:
    world = World(row(1))
    world.run()
    assert world.refreshes.drop(NAME, delete_target=True).target_deleted
    assert TARGET not in world.lake.tables
    other = World(row(1))
    other.lake.create(TARGET, COLUMNS)
    assert not other.refreshes.drop(NAME, delete_target=True).target_deleted
    assert TARGET in other.lake.tables


def test_what_a_deleted_target_leaves_in_its_folder_is_reported() -> None:
    world, inside = World(row(1)), f"{TARGET}/mine"
    world.run()
    world.lake.create(inside, COLUMNS)

    dropped = world.refreshes.drop(NAME, delete_target=True)

    assert (dropped.files_left, dropped.left_example, inside in world.lake.tables) == (1, inside, True)
    said = f"deleted; left 1 file that its log does not name, such as {inside}"
    assert said in str(table_of(dropped))


def test_a_definition_with_a_running_owner_is_dropped_only_with_stop() -> None:
    world = interrupted()
    world.dead.clear()
    with pytest.raises(Refused, match="is being refreshed") as refused:
        drop(world)
    assert f"drop {NAME} --stop" in refused.value.next
    assert world.record.state is State.FINISHING
    assert drop(world, stop=True).run_abandoned


def test_a_definition_with_a_parked_run_is_dropped_only_with_stop() -> None:
    world = changed()
    one_task.start(world.process(), NAME, MINE)
    with pytest.raises(Refused, match="by the tasks of dag/one"):
        drop(world)
    assert drop(world, stop=True).run_abandoned
    with pytest.raises(Lost, match="has been dropped") as lost:
        one_task.fill(world.process(), NAME, MINE)
    assert lost.value.code == "dropped"


class AtWork:
    """A running refresh whose definition is dropped at one of its steps."""

    def __init__(self, world: World, point: str, nth: int = 1, **options: Any) -> None:
        self.world = world
        self.seen: list[RefreshStatus] = []
        self.dropped: Dropped | None = None
        self.commits = 0
        self._steps = 0
        self._point, self._nth, self._options = point, nth, options

    def run(self) -> RefreshError | None:
        """Run it to its end; returns the error that it ended with."""
        self.world.lake.step = self._step
        try:
            self.world.run()
        except RefreshError as error:
            return error
        finally:
            self.world.lake.step = lambda _what: None
        return None

    def _step(self, what: str) -> None:
        if what.startswith("drop ") or what == "release session":
            self.seen.append(status(self.world.record))
        if self.dropped is None and what.startswith(self._point):
            self._steps += 1
            if self._steps == self._nth:
                self._drop()

    def _drop(self) -> None:
        dropper = self.world.process()
        assert isinstance(dropper.engine, MemoryEngine) and isinstance(self.world.ports.engine, MemoryEngine)
        dropper.engine.released = self.world.ports.engine.released  # one server
        self._steps = -100
        self.dropped = Refreshes(dropper).drop(NAME, stop=True, **self._options)
        self.commits = len(self.world.commits) if TARGET in self.world.lake.tables else 0


@pytest.mark.parametrize("options", [LIVE, BY_VNODE])
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("nth", [1, 2])
def test_a_running_refresh_ends_with_a_clear_error_and_writes_nothing_more(
    options: dict[str, Any], point: str, nth: int
) -> None:
    world = changed(**options)
    run_ids = {entry.run_id for entry in world.refreshes.history(NAME)}
    work = AtWork(world, point, nth)
    error = work.run()
    if work.dropped is None and nth == 2:
        return  # it comes only once
    assert work.dropped is not None
    assert isinstance(error, Lost), error
    assert error.code == "dropped"
    assert RefreshStatus.RESETTING in work.seen
    # A statement that had started may still have returned; nothing was committed to the target after the drop.
    assert len(world.commits) == work.commits
    assert world.record.dropped
    world.refreshes.recover()
    assert not world.staged()
    [newest, *_] = world.refreshes.history(NAME)
    if newest.run_id not in run_ids and work.dropped.run_abandoned:
        assert (newest.outcome, newest.reason) == (Outcome.ABANDONED, "the definition was dropped")
    world.refreshes.register(definition(**options))
    world.another()
    assert world.fresh()


def test_the_target_of_a_running_refresh_is_deleted_on_request() -> None:
    world = changed()
    work = AtWork(world, "begin /gold", 2, delete_target=True)
    assert isinstance(work.run(), Lost)
    assert TARGET not in world.lake.tables


def test_a_task_whose_session_was_released_reports_the_drop() -> None:
    world = changed(**BY_VNODE)
    one_task.start(world.process(), NAME, MINE)
    unit, *_ = one_task.fill(world.process(), NAME, MINE)

    def dropped() -> BaseException:
        drop(world, stop=True)
        return disconnected()

    with at(world.lake, "commit /gold", dropped), pytest.raises(Lost) as lost:
        one_task.merge_unit(world.process(), NAME, MINE, unit.unit)
    assert lost.value.code == "dropped"
    with pytest.raises(Lost, match="has been dropped"):
        one_task.interrupt(world.process(), NAME, MINE)


def test_a_task_whose_connection_broke_may_be_retried() -> None:
    world = changed(**BY_VNODE)
    one_task.start(world.process(), NAME, MINE)
    unit, *_ = one_task.fill(world.process(), NAME, MINE)
    with at(world.lake, "commit /gold", disconnected), pytest.raises(Retry, match="connection"):
        one_task.merge_unit(world.process(), NAME, MINE, unit.unit)


@pytest.mark.parametrize("point", ["release", "open session", "commit /gold", "answer /gold", "drop memory"])
def test_an_interrupted_drop_is_finished_by_the_next_drop(point: str) -> None:
    world = interrupted()
    world.dead.clear()
    held = world.interrupted.lease.session
    process = world.process()
    with at(world.lake, point), pytest.raises(Killed):
        Refreshes(process).drop(NAME, stop=True)
    assert (world.record.state, status(world.record)) == (State.RESETTING, RefreshStatus.RESETTING)
    for act in (world.another, lambda: world.refreshes.register(definition()), lambda: world.refreshes.pause(NAME)):
        with pytest.raises(Refused, match="being dropped"):
            act()
    [found] = world.refreshes.recover()
    assert (found.outcome, f"drop {NAME}" in found.reason) == ("resetting", True)
    finisher = world.process()
    assert Refreshes(finisher).drop(NAME).run_abandoned
    assert isinstance(finisher.engine, MemoryEngine)
    assert held in finisher.engine.released
    assert not world.staged()
    assert outcomes(world) == [Outcome.ABANDONED, Outcome.SUCCEEDED]


def test_of_two_drops_at_once_the_later_one_finishes_and_the_other_changes_nothing_more() -> None:
    world = interrupted()
    later: list[Dropped] = []

    def overtake(what: str) -> None:
        if what.startswith("drop memory") and not later:
            later.append(Dropped(name="", target="", target_deleted=False))
            later[0] = drop(world)
            world.refreshes.register(definition(**LIVE))
            world.another()

    world.lake.step = overtake
    with pytest.raises(Lost, match="another drop") as lost:
        drop(world, delete_target=True)
    assert lost.value.code == "drop_overtaken"
    assert later[0].run_abandoned
    assert world.fresh()


def test_late_staging_of_a_dropped_definition_is_removed_by_the_next_recovery() -> None:
    world = interrupted()
    staging = world.interrupted.plan.staging
    drop(world)
    world.lake.create(f"{staging}/changes", COLUMNS)
    world.refreshes.recover()
    assert not world.staged()


def test_the_slots_and_the_seal_are_fenced_before_staging_is_dropped() -> None:
    world = interrupted("answer /gold", 2)
    fences: list[int] = []

    def look(what: str) -> None:
        if what.startswith("drop memory"):
            notes = [read_note(c.note) for c in world.commits]
            fences.append(sum(n is not None and n.kind is NoteKind.FENCE for n in notes))

    world.lake.step = look
    drop(world)
    assert fences[0] >= 2
