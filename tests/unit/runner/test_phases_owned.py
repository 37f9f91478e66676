"""Runs between their tasks, and after their owners: kept, taken over, finished, abandoned."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from airflow_refresh_provider.core.definition.inputs import Input
from airflow_refresh_provider.core.run.owner import PARKED_FOR, Beat, OriginStatus
from airflow_refresh_provider.core.run.request import IfRunning, OnInterrupted, Request
from airflow_refresh_provider.core.run.results import Outcome, RunResult, StartedRun
from airflow_refresh_provider.errors import Failed, Lost, Refused, Retry
from airflow_refresh_provider.runner.admin.cascades import pinned
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.runner.steps import one_task
from airflow_refresh_provider.views import result_table
from airflow_refresh_provider.views.tables import table_of
from tests.napping import Nap
from tests.unit.runner.faults import Killed, at, disconnected
from tests.unit.runner.phased import BY_VNODE, MINE, OTHER, changed, ended, finished, loaded, merged, started
from tests.unit.runner.world import INPUT, NAME, ONE, World, row


def test_between_two_phases_no_other_caller_takes_the_run() -> None:
    world = changed()
    started(world)
    for request in (ONE, OTHER):
        with pytest.raises(
            Refused,
            match=r"refreshed by the tasks of dag/one: .* of that DAG run until 2024-01-01 01:00:0",
        ) as e:
            world.another(request)
        assert "unpause it" in e.value.next
        assert "take the run over: `airflow-refresh run orders --take-over`" in e.value.next
    assert world.another(Request(if_running=IfRunning.SKIP)).outcome is Outcome.SKIPPED
    assert [r.outcome for r in world.refreshes.recover()] == ["live"]
    loaded(world)
    with pytest.raises(Refused):
        world.another()


def test_between_two_phases_no_refresh_is_due_until_the_run_is_kept_no_longer() -> None:
    world = changed(refresh={"interval": "1 h"})
    started(world)
    assert world.refreshes.due(NAME).cause == "running"
    later = world.process()
    later.clock.sleep(PARKED_FOR.total_seconds() + 1)
    assert Refreshes(later).due(NAME).cause == "interrupted"


def test_runs_of_one_schedule_skip_while_one_is_running() -> None:
    world = changed()
    started(world, Request(origin="http://airflow dag backfill__one", scheduled=True))
    held = world.interrupted.run_id

    def reason(origin: str, **options: Any) -> str | None:
        request = Request(origin=origin, scheduled=True).model_copy(update=options)
        found = one_task.start(world.process(), NAME, request)
        assert isinstance(found, RunResult)
        assert found.outcome is Outcome.SKIPPED
        return found.reason

    mine = "http://airflow dag scheduled__two"
    assert f"run {held} is in progress, held by the tasks of http://airflow dag backfill__one" in (reason(mine) or "")
    pins = pinned(world.ports, [("x", Input(path=INPUT))])
    for origin, options in (
        (mine, {"scheduled": False}),  # by hand
        (mine, {"pins": pins}),  # a part of a cascade
        ("http://airflow other scheduled__two", {}),
        ("http://elsewhere dag scheduled__two", {}),
    ):
        with pytest.raises(Refused, match="is being refreshed by"):
            reason(origin, **options)


def test_a_scheduled_run_is_refused_while_another_origin_holds_the_run() -> None:
    world = changed()
    for theirs, mine in (("dag/one", "dag/two"), ("one", "two")):
        started(world, Request(origin=theirs))
        with pytest.raises(Refused):
            one_task.start(world.process(), NAME, Request(origin=mine, scheduled=True))
        assert one_task.interrupt(world.process(), NAME, Request(origin=theirs))


def test_units_that_fail_count_once_for_each_scheduled_run_and_suspend_in_the_end() -> None:
    world = changed(refresh={"interval": "1 h", "suspend_after": 2}, **BY_VNODE)
    wrong = Failed("spark_failed", "an executor was lost", left="as it was", next="fix it")
    for failures, origin in ((1, "dag/one"), (2, "dag/two")):
        request = Request(origin=origin, scheduled=True)
        started(world, request)
        for unit in loaded(world, request)[:2]:
            with at(world.lake, "begin /gold", lambda: wrong), pytest.raises(Failed):
                merged(world, unit, request)
        assert world.record.failures == failures
        assert one_task.interrupt(world.process(), NAME, request)
    assert "2 scheduled refreshes in a row have failed" in (world.record.suspended or "")

    by_hand = Request(origin="dag/three")
    started(world, by_hand)
    for unit in loaded(world, by_hand):
        merged(world, unit, by_hand)
    assert finished(world, by_hand).outcome is Outcome.SUCCEEDED
    assert world.record.failures == 0


def test_the_status_shows_for_which_origin_a_run_is_kept_and_until_when() -> None:
    world = changed(**BY_VNODE)
    started(world)
    waiting = world.refreshes.show(NAME)
    assert waiting.run is not None
    assert (waiting.run.live, waiting.run.origin) == (False, "dag/one")
    assert waiting.run.kept_until == world.interrupted.lease.parked_until
    assert "between two tasks of dag/one, kept until 2024-01-01 01:00:0" in str(table_of(waiting).rows)
    assert str(result_table.row(waiting)["status"]).startswith("between tasks")
    unit, *_ = loaded(world)
    with at(world.lake, "begin /gold"), pytest.raises(Killed):
        merged(world, unit)
    assert "held by tasks of dag/one" in str(table_of(world.refreshes.show(NAME)).rows)


def test_any_caller_may_take_a_run_whose_deadline_has_passed() -> None:
    world = changed()
    started(world)
    later = world.process()
    later.clock.sleep(PARKED_FOR.total_seconds() + 1)
    left = Refreshes(later).show(NAME)
    assert left.run is not None
    assert left.run.kept_until is None
    assert str(result_table.row(left)["status"]).startswith("interrupted")
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
    one_task.merge_unit(later, NAME, MINE, first.unit)
    latest = world.process()
    latest.clock.sleep(PARKED_FOR.total_seconds() + 1)
    with pytest.raises(Refused):
        Refreshes(latest).run(NAME, ONE)


def test_any_caller_may_take_a_run_whose_origin_has_finished() -> None:
    world = changed(**BY_VNODE)
    started(world)
    first, *_ = loaded(world)
    merged(world, first)
    result = Refreshes(ended(world, "dag/one")).run(NAME, OTHER)
    assert (result.resumed, result.chunks.skipped) == (True, first.chunks)
    assert world.fresh()


def test_any_caller_may_take_a_run_whose_origin_was_deleted_and_whose_owners_are_gone() -> None:
    """The caller waits a while: where a DAG run was deleted, its tasks are being stopped."""
    world = changed(**BY_VNODE)
    started(world)
    first, second, *_ = loaded(world)
    at_work = world.process()
    with at(world.lake, "begin /gold"), pytest.raises(Killed):
        one_task.merge_unit(at_work, NAME, MINE, first.unit)
    later = ended(world, "dag/one", OriginStatus.DELETED)
    alive = Nap(lambda: beat(world, alive.now()))
    with pytest.raises(Refused, match="is being refreshed by"):
        Refreshes(replace(later, clock=alive)).run(NAME, OTHER)
    assert [r.outcome for r in Refreshes(later).recover()] == ["live"]
    result = Refreshes(replace(later, clock=Nap(lambda: world.die(at_work)))).run(NAME, OTHER)
    assert result.resumed
    assert world.fresh()
    with pytest.raises(Lost):
        merged(world, second)


def beat(world: World, now: datetime) -> None:
    """A sign of life of the only unit that is running."""
    [(unit, claim)] = world.interrupted.claims.items()
    world.ports.store.beat(NAME, world.interrupted.run_id, unit, Beat(generation=claim.generation, at=now))


def test_a_run_at_other_versions_is_finished_before_the_requested_one() -> None:
    world = changed(**BY_VNODE)
    started(world)
    first, *_ = loaded(world)
    merged(world, first)
    world.lake.append(INPUT, [row(20, "c")])
    wanted = OTHER.model_copy(update={"pins": pinned(world.ports, [("x", Input(path=INPUT))])})
    second = one_task.start(ended(world, "dag/one"), NAME, wanted)
    assert isinstance(second, StartedRun)
    assert not second.resumed
    before = world.record.published
    assert before and before.run_id != second.run_id
    assert world.interrupted.plan.pins["x"] == wanted.pins[INPUT] != before.pins["x"]
    for unit in loaded(world, wanted):
        merged(world, unit, wanted)
    assert finished(world, wanted).rows.inserted == 1
    assert world.fresh()


def test_an_interrupted_run_is_released_with_its_old_owners_fenced() -> None:
    world = changed(**BY_VNODE)
    started(world)
    units = loaded(world)
    merged(world, units[0])
    with at(world.lake, "commit /gold", disconnected), pytest.raises(Retry):
        merged(world, units[1])
    assert one_task.interrupt(world.process(), NAME, MINE)
    with pytest.raises(Lost):
        merged(world, units[2])
    result = world.another()
    assert (result.resumed, result.chunks.skipped) == (True, units[0].chunks)
    assert world.fresh()
    assert not one_task.interrupt(world.process(), NAME, MINE)


def test_a_restart_abandons_runs_of_other_origins_only() -> None:
    world = changed(**BY_VNODE)
    theirs = started(world, OTHER).run_id
    assert one_task.interrupt(world.process(), NAME, OTHER)
    restart = MINE.model_copy(update={"on_interrupted": OnInterrupted.RESTART})
    mine = started(world, restart).run_id
    assert mine != theirs
    for unit in loaded(world, restart):
        merged(world, unit, restart)
    with at(world.lake, "begin /gold"), pytest.raises(Killed):
        finished(world, restart)
    assert finished(world, restart).run_id == mine
    assert world.fresh()


def test_the_run_of_another_origin_is_not_interrupted() -> None:
    world = changed()
    started(world, OTHER)
    assert not one_task.interrupt(world.process(), NAME, MINE)
    loaded(world, OTHER)


@pytest.mark.parametrize("code", ["input_missing", "bad_value"])
def test_a_run_with_a_unit_whose_inputs_cannot_be_read_is_abandoned(code: str) -> None:
    world = changed(**BY_VNODE)
    started(world)
    first, *_ = loaded(world)
    gone = Failed(code, "x has no files any more", left="as it was", next="restore them")
    with at(world.lake, "begin /gold", lambda: gone), pytest.raises(Failed):
        merged(world, first)
    assert one_task.interrupt(world.process(), NAME, MINE)
    assert world.record.run is None
    world.another()
    assert world.fresh()
