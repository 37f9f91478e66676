"""What a person may do to a run that another owner holds: take it over, or end it for good."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.run.owner import STALE_AFTER
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import Outcome
from airflow_refresh_provider.errors import Lost, Refused
from airflow_refresh_provider.runner.refreshes import Refreshes
from tests.unit.runner.disturbed import LIVE, once
from tests.unit.runner.faults import Killed, at
from tests.unit.runner.phased import BY_VNODE, changed, finished, loaded, merged, started
from tests.unit.runner.world import NAME, World, row

TAKE = Request(workers=1, take_over=True)


def parked() -> World:
    """A run of a DAG run that is gone: parked, and one of its units is in the target."""
    world = changed(**BY_VNODE)
    started(world)
    merged(world, loaded(world)[0])
    return world


def test_a_run_kept_for_a_dag_run_is_taken_over_on_request_and_resumed() -> None:
    world = parked()
    with pytest.raises(Refused) as refused:
        world.another()
    assert f"`airflow-refresh run {NAME} --take-over`" in refused.value.next
    result = world.another(TAKE)
    assert (result.outcome, result.resumed, world.fresh()) == (Outcome.SUCCEEDED, True, True)
    assert result.chunks.skipped > 0
    assert result.reason is not None
    assert result.reason.startswith("it was taken over on request from the tasks of dag/one after ")
    [entry, _first] = world.refreshes.history(NAME)
    assert entry.result is not None and entry.result.reason == result.reason


def test_the_tasks_of_the_dag_run_have_lost_it() -> None:
    world = parked()
    units = loaded(world)
    world.another(TAKE)
    with pytest.raises(Lost):
        merged(world, units[1])
    with pytest.raises(Lost):
        finished(world)
    assert world.fresh()


def test_so_is_one_with_a_live_owner_whose_late_commit_does_not_get_in() -> None:
    world = changed(**LIVE)
    world.lake.step = once(world, "commit /gold", lambda: world.another(TAKE))
    with pytest.raises(Lost):
        world.run()
    assert world.fresh()
    assert [entry.outcome for entry in world.refreshes.history(NAME)] == [Outcome.SUCCEEDED, Outcome.SUCCEEDED]


def test_a_run_that_no_owner_holds_is_resumed_with_the_usual_reason() -> None:
    world = changed(**LIVE)
    with at(world.lake, "begin /gold", nth=2), pytest.raises(Killed):
        world.run()
    world.die(world.ports)
    later = world.process()
    later.clock.sleep(STALE_AFTER.total_seconds() + 1)
    assert (
        Refreshes(later)
        .recover(NAME)[0]
        .reason.startswith("its owner has ended, or stopped sending heartbeats, after ")
    )


def test_without_an_unfinished_run_taking_over_is_an_ordinary_refresh() -> None:
    world = changed()
    assert world.run(TAKE).rows.updated > 0
    assert world.run(TAKE).outcome is Outcome.NOTHING_TO_DO


def test_an_unfinished_run_is_ended_for_good_and_the_next_one_is_new() -> None:
    world = changed(**LIVE)
    with at(world.lake, "begin /gold", nth=2), pytest.raises(Killed):
        world.run()
    world.die(world.ports)
    left = world.interrupted.run_id
    found = world.refreshes.abandon(NAME)
    assert (found.outcome, found.run_id) == ("abandoned", left)
    assert found.reason == "abandoning it was requested"
    assert world.record.run is None and not world.staged()
    assert world.refreshes.history(NAME)[0].outcome is Outcome.ABANDONED
    world.become(row(1, "c"))
    result = world.run()
    assert (result.resumed, world.fresh()) == (False, True)
    assert result.run_id != left


def test_a_run_that_is_held_is_abandoned_only_when_it_may_be_stopped() -> None:
    world = parked()
    with pytest.raises(Refused, match="refreshed by the tasks of dag/one") as refused:
        world.refreshes.abandon(NAME)
    assert (refused.value.code, f"abandon {NAME} --stop" in refused.value.next) == ("already_running", True)
    assert world.refreshes.abandon(NAME, stop=True).outcome == "abandoned"
    with pytest.raises(Lost):
        finished(world)
    assert not world.run().resumed
    assert world.fresh()


def test_a_paused_run_can_be_abandoned() -> None:
    world = parked()
    world.refreshes.pause(NAME)
    assert world.refreshes.abandon(NAME, stop=True).outcome == "abandoned"
    assert world.record.paused


def test_an_owner_whose_run_is_abandoned_has_lost() -> None:
    world = changed(**LIVE)
    world.lake.step = once(world, "commit /gold", lambda: Refreshes(world.process()).abandon(NAME, stop=True))
    with pytest.raises(Lost, match="was abandoned") as lost:
        world.run()
    assert (lost.value.code, "no other owner" in lost.value.left) == ("abandoned", True)
    assert world.record.run is None
    assert not world.run().resumed
    assert world.fresh()


def test_an_owner_whose_run_another_has_finished_is_not_said_to_be_abandoned() -> None:
    world = changed(**LIVE)

    def another_finishes() -> None:
        Refreshes(world.process()).run(NAME, Request(workers=1, take_over=True))

    world.lake.step = once(world, "commit /gold", another_finishes)
    with pytest.raises(Lost) as lost:
        world.run()
    assert lost.value.code == "lost_lease"
    assert world.fresh()


def test_a_run_that_its_owner_ends_in_the_meantime_was_published() -> None:
    world = changed(**BY_VNODE)
    started(world)
    units = loaded(world)
    for unit in units:
        merged(world, unit)
    world.lake.step = once(world, "read", lambda: finished(world))
    assert Refreshes(world.process()).abandon(NAME, stop=True).outcome == "published"
    assert world.fresh()


@pytest.mark.parametrize(("point", "outcome"), [("answer /gold", "published"), ("drop memory://staging", "cleaned_up")])
def test_a_run_that_is_complete_in_its_target_is_published_instead(point: str, outcome: str) -> None:
    world = changed()
    with at(world.lake, point), pytest.raises(Killed):
        world.run()
    world.die(world.ports)
    assert Refreshes(world.process()).abandon(NAME).outcome == outcome
    assert world.fresh()
    assert world.refreshes.abandon(NAME).outcome == "clean"
