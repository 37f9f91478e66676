"""A pause: no run starts, a run stops before its next chunk, and is resumed afterwards."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import RunResult
from airflow_refresh_provider.errors import Invalid, Lost, Paused
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.runner.steps import one_task
from tests.unit.runner.disturbed import LIVE
from tests.unit.runner.phased import BY_VNODE, MINE, changed, finished, loaded, merged, started
from tests.unit.runner.world import NAME, World, row


def paused_after(world: World, commits: int) -> None:
    """Pause the definition after a number of commits to the target."""
    seen: list[str] = []

    def step(what: str) -> None:
        if what.startswith("commit /gold"):
            seen.append(what)
            if len(seen) == commits:
                Refreshes(world.process()).pause(NAME)

    world.lake.step = step


def test_a_paused_definition_is_not_refreshed() -> None:
    world = changed()
    assert world.refreshes.pause(NAME).paused
    assert world.refreshes.pause(NAME).paused
    with pytest.raises(Paused) as refused:
        world.another()
    assert (refused.value.exit_code, refused.value.code) == (3, "paused")
    assert not world.refreshes.resume(NAME).paused
    world.another()
    assert world.fresh()


@pytest.mark.parametrize("options", [LIVE, BY_VNODE], ids=["plain", "vnodes"])
def test_a_refresh_stops_before_its_next_chunk_and_continues_there(options: dict[str, Any]) -> None:
    world = changed(**options)
    paused_after(world, 2)
    with pytest.raises(Paused):
        world.run()
    world.lake.step = lambda _what: None
    run = world.interrupted
    assert run.lease.owner is None
    assert [(r.run_id, r.outcome) for r in world.refreshes.recover()] == [(run.run_id, "paused")]
    world.refreshes.resume(NAME)
    result = world.another()
    assert (result.run_id, result.resumed, result.chunks.skipped) == (run.run_id, True, 2)
    assert world.fresh()


def test_each_phase_of_a_refresh_is_paused() -> None:
    world = changed(**BY_VNODE)
    started(world)
    first, *rest = loaded(world)
    world.refreshes.pause(NAME)
    generation = world.record.generation
    for phase in (lambda: started(world), lambda: loaded(world), lambda: merged(world, first), lambda: finished(world)):
        with pytest.raises(Paused):
            phase()
    assert world.record.generation == generation
    assert world.interrupted.lease.parked_until is not None
    world.refreshes.resume(NAME)
    for unit in (first, *rest):
        merged(world, unit)
    assert finished(world).rows.updated == 8
    assert world.fresh()


def test_a_paused_unit_continues_after_its_last_chunk() -> None:
    world = changed(**(BY_VNODE | {"vnodes": 2}))
    started(world)
    unit = max(loaded(world), key=lambda u: u.chunks)
    assert unit.chunks > 1
    paused_after(world, 1)
    with pytest.raises(Paused):
        merged(world, unit)
    world.lake.step = lambda _what: None
    world.refreshes.resume(NAME)
    assert merged(world, unit) == 1


def test_a_paused_run_can_be_released_and_its_definition_dropped() -> None:
    world = changed()
    started(world)
    world.refreshes.pause(NAME)
    assert one_task.interrupt(world.process(), NAME, MINE)
    world.refreshes.drop(NAME)
    with pytest.raises(Invalid):
        world.refreshes.resume(NAME)


def test_registering_a_change_does_not_end_a_pause_and_dropping_does() -> None:
    world = World(row(1))
    definition = world.record.definition
    world.refreshes.pause(NAME)
    world.refreshes.register(definition.model_copy(update={"description": "another"}))
    assert world.refreshes.show(NAME).paused
    world.refreshes.drop(NAME)
    world.refreshes.register(definition)
    assert isinstance(world.run(), RunResult)


def test_a_task_of_an_ended_run_says_so_although_its_definition_is_paused() -> None:
    world = changed()
    world.refreshes.pause(NAME)
    with pytest.raises(Lost):
        loaded(world)


@pytest.mark.parametrize("by_phases", [False, True], ids=["alone", "phases"])
def test_a_pause_is_no_failure_of_a_scheduled_refresh(*, by_phases: bool) -> None:
    world = changed(**BY_VNODE, refresh={"interval": "1 hour", "suspend_after": 1})
    scheduled = Request(origin=MINE.origin if by_phases else None, scheduled=True)
    if by_phases:
        started(world, scheduled)
        unit = max(loaded(world, scheduled), key=lambda u: u.chunks)
    paused_after(world, 1)
    with pytest.raises(Paused):
        merged(world, unit, scheduled) if by_phases else world.run(scheduled)
    assert (world.record.failures, world.record.suspended, world.interrupted.failed_in) == (0, None, None)
