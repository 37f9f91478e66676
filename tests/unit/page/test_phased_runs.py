"""What the page says of an ended run that was done by the tasks of a DAG run."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.run.run_detail import Part, RunDetail
from airflow_refresh_provider.errors import Failed
from airflow_refresh_provider.runner.steps import one_task
from tests.unit.page.site import browser, views_of
from tests.unit.runner import phased
from tests.unit.runner.faults import at, not_accepted
from tests.unit.runner.phased import BY_VNODE, MINE, OTHER
from tests.unit.runner.world import NAME


def published() -> RunDetail:
    """A run that was never interrupted."""
    world = phased.changed(**BY_VNODE)
    run_id = phased.started(world).run_id
    for unit in phased.loaded(world):
        phased.merged(world, unit)
    phased.finished(world)
    return views_of(world.refreshes).run(NAME, run_id)


def test_no_chunk_of_a_run_without_another_attempt_is_from_an_earlier_one() -> None:
    found = published()
    assert found.attempts == 1 and found.chunks
    assert {chunk.state for chunk in found.chunks} == {Part.DONE}
    assert found.started_at is not None and found.ended_at is not None and found.started_at <= found.ended_at


def test_its_phases_are_those_of_all_its_tasks() -> None:
    assert [one.name for one in published().phases][:2] == ["load", "merge"]


def test_a_run_without_an_owner_has_no_phase_that_runs_and_no_chunk_of_an_earlier_attempt() -> None:
    world = phased.changed(**BY_VNODE)
    run_id = phased.started(world).run_id
    first, *_ = phased.loaded(world)
    phased.merged(world, first)
    one_task.interrupt(world.process(), NAME, MINE)
    found = views_of(world.refreshes).run(NAME, run_id)
    assert [one.state for one in found.phases] == [Part.DONE, Part.WAITING, Part.WAITING]
    assert {chunk.state for chunk in found.chunks if chunk.unit == first.unit} == {Part.DONE}
    assert {chunk.state for chunk in found.chunks if chunk.unit != first.unit} == {Part.WAITING}


def test_a_run_that_was_abandoned_says_why_and_that_the_next_run_is_another_one() -> None:
    world = phased.changed(**BY_VNODE)
    run_id = phased.started(world).run_id
    first, *_ = phased.loaded(world)
    with at(world.lake, "begin /gold", not_accepted), pytest.raises(Failed):
        phased.merged(world, first)
    one_task.interrupt(world.process(), NAME, MINE)
    error = views_of(world.refreshes).run(NAME, run_id).error
    assert error is not None
    assert (error.code, error.next) == (
        "constraint_violated",
        f"Fix the cause. `airflow-refresh run {NAME}` starts a new run.",
    )
    shown = browser(world.refreshes).get(f"/definitions/{NAME}/runs/{run_id}").text
    assert "Attempts</h2>" in shown
    assert "Phases</h2>" not in shown and "Inputs</h2>" not in shown

    assert phased.started(world, OTHER).run_id != run_id
    error = views_of(world.refreshes).run(NAME, run_id).error
    assert error is not None
    assert error.next == f"Fix the cause. `airflow-refresh progress {NAME}` shows the run that has followed."


def test_units_of_an_earlier_attempt_are_not_those_of_the_last_one() -> None:
    world = phased.changed(**BY_VNODE)
    run_id = phased.started(world).run_id
    first, *others = phased.loaded(world)
    phased.merged(world, first)
    one_task.interrupt(world.process(), NAME, MINE)
    assert phased.started(world, OTHER).run_id == run_id
    for unit in phased.loaded(world, OTHER):
        phased.merged(world, unit, OTHER)
    phased.finished(world, OTHER)
    found = views_of(world.refreshes).run(NAME, run_id)
    assert found.attempts == 2 and len(others) > 1
    assert {chunk.unit for chunk in found.chunks if chunk.state is Part.EARLIER} == {first.unit}
    assert {chunk.unit for chunk in found.chunks if chunk.state is Part.DONE} == {unit.unit for unit in others}
