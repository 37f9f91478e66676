"""Tasks and DAG runs that a person marks, clears and deletes: nothing half done is ever published."""

from __future__ import annotations

import psutil
import pytest

from tests.running.holding import CHUNK, PREPARE, PUBLISH, STARTED
from tests.running.site import until
from tests.running.table import ONE_TASK, Table

NO_RETRIES = "default_args={'retries': 0}"

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("task", "point", "state", "ends"),
    [
        ("start", STARTED, "failed", ("failed", "upstream_failed", "upstream_failed")),
        ("load", PREPARE, "success", ("failed", "upstream_failed", "failed")),
        ("load", PREPARE, "failed", ("failed", "upstream_failed", "failed")),
        ("merge", CHUNK, "success", ("failed", "failed", "failed")),
        ("merge", CHUNK, "failed", ("failed", "upstream_failed", "failed")),
        ("finish", PUBLISH, "success", ("failed", "success", "failed")),
        ("finish", PUBLISH, "failed", ("failed", "failed", "failed")),
    ],
)
def test_a_task_that_is_marked_at_work_publishes_nothing_and_fails_its_run(
    table: Table, task: str, point: str, state: str, ends: tuple[str, str, str]
) -> None:
    """`ends`: the states of the DAG run, of `finish` and of `release`. Of a marked unit two chunks are missing."""
    table.deploy(NO_RETRIES)
    published = table.published
    run_id, victim = _at_work(table, point)
    table.acts.mark_task(table.dag_id, run_id, task, table.index_of(run_id, victim), state)
    ended = _until_released(table, run_id, victim)

    states = table.states(run_id)
    assert (ended, states["finish"], states["release"]) == ends
    assert table.published == published
    assert table.healed()


def test_a_start_that_is_marked_as_successful_at_work_has_its_run_ended_by_those_that_follow(table: Table) -> None:
    """It had started its run and not yet parked it."""
    table.deploy(NO_RETRIES)
    run_id, victim = _at_work(table, STARTED)
    table.acts.mark_task(table.dag_id, run_id, "start", -1, "success")

    assert _until_released(table, run_id, victim) == "success"
    assert set(table.states(run_id).values()) == {"success"}
    assert table.fresh()


@pytest.mark.parametrize("state", ["success", "failed"])
@pytest.mark.parametrize("point", [PREPARE, CHUNK, PUBLISH])
def test_a_dag_run_that_is_marked_at_work_publishes_nothing_and_fails(table: Table, point: str, state: str) -> None:
    table.deploy(NO_RETRIES)
    published = table.published
    run_id, victim = _at_work(table, point)
    table.acts.mark_run(table.dag_id, run_id, state)

    assert _until_released(table, run_id, victim) == "failed"
    assert table.states(run_id)["release"] == "failed"
    assert table.published == published
    assert table.healed()


@pytest.mark.parametrize("state", ["success", "failed"])
def test_a_dag_run_of_a_single_task_that_is_marked_at_work_leaves_its_run_to_the_next(table: Table, state: str) -> None:
    """Without a teardown it ends as it was marked."""
    table.deploy(NO_RETRIES, tasks=ONE_TASK)
    published = table.published
    table.hold()
    run_id = table.trigger()
    [victim] = table.held()
    table.acts.mark_run(table.dag_id, run_id, state)

    assert _until_released(table, run_id, victim) == state
    assert table.published == published
    left = table.refreshes.show(table.name).run
    assert left is not None and left.owner is None
    again = table.trigger()
    assert table.ended(again) == "success"
    reported = table.airflow.rest.returned(table.dag_id, again, "refresh")
    assert (reported["resumed"], reported["chunks"]["skipped"] >= 1) == (True, True)
    assert table.fresh()


@pytest.mark.parametrize("cleared", ["start", "load", "merge"])
def test_what_is_cleared_with_what_follows_ends_its_run(table: Table, cleared: str) -> None:
    """One unit has died for good. Of the merge only that one is cleared."""
    table.deploy(NO_RETRIES)
    run_id, victim = _at_work(table, CHUNK)
    index = table.index_of(run_id, victim)
    victim.kill()
    table.release()
    assert table.ended(run_id) == "failed"
    assert table.states(run_id)[f"merge[{index}]"] == "failed"

    table.acts.clear(table.dag_id, run_id, [cleared, index] if cleared == "merge" else cleared, downstream=True)
    assert table.ended(run_id) == "success"
    assert table.airflow.rest.returned(table.dag_id, run_id, "merge", index)["skipped"] >= 1
    assert table.fresh()


def test_a_unit_that_is_cleared_alone_publishes_nothing_and_the_next_run_ends_it(table: Table) -> None:
    table.deploy(NO_RETRIES)
    table.fail()
    published = table.published
    run_id = table.trigger()
    assert table.ended(run_id) == "failed"

    table.fail(wanted=False)
    table.acts.clear(table.dag_id, run_id, ["merge", 0], downstream=False)
    until(lambda: table.states(run_id)["merge[0]"] == "success", "the unit that was cleared")
    table.ended(run_id)
    assert table.states(run_id)["finish"] == "upstream_failed"
    assert table.published == published
    assert table.healed()


def test_a_whole_run_that_failed_and_is_cleared_skips_what_is_in_and_ends(table: Table) -> None:
    """Each unit has failed after its first chunk."""
    table.deploy(NO_RETRIES)
    table.fail()
    run_id = table.trigger()
    assert table.ended(run_id) == "failed"
    unfinished = table.refreshes.show(table.name).run
    assert unfinished is not None

    table.fail(wanted=False)
    table.acts.clear_run(table.dag_id, run_id)
    assert table.ended(run_id) == "success"
    rest = table.airflow.rest
    started = rest.returned(table.dag_id, run_id, "start")
    assert (started["run_id"], started["resumed"]) == (unfinished.run_id, True)
    merged = [rest.returned(table.dag_id, run_id, "merge", index) for index in range(4)]
    assert sorted((reported["chunks"], reported["skipped"]) for reported in merged) == [(1, 1), (1, 1), (3, 1), (3, 1)]
    assert table.fresh()


def test_a_whole_run_that_is_cleared_finds_nothing_to_do(table: Table) -> None:
    table.deploy(NO_RETRIES)
    run_id = table.trigger()
    assert table.ended(run_id) == "success"
    published = table.published
    table.acts.clear_run(table.dag_id, run_id)
    until(lambda: table.states(run_id).get("start") == "skipped", "a start that skips")
    assert table.ended(run_id) == "success"
    assert table.published == published


def test_a_run_is_deleted_only_when_it_has_ended_and_the_next_goes_on_with_its_work(table: Table) -> None:
    table.deploy(NO_RETRIES)
    table.hold()
    table.fail()
    run_id = table.trigger()
    until(lambda: table.airflow.rest.state(table.dag_id, run_id) == "running", "a DAG run at work")
    assert table.acts.delete_run(table.dag_id, run_id) == 409
    assert table.ended(run_id) == "failed"
    assert table.acts.delete_run(table.dag_id, run_id) == 204
    table.fail(wanted=False)
    table.release()
    again = table.trigger()
    assert table.ended(again) == "success"
    assert table.airflow.rest.returned(table.dag_id, again, "start")["resumed"]
    assert table.fresh()


def _at_work(table: Table, point: str) -> tuple[str, psutil.Process]:
    """A DAG run, and the process of a task of it that waits at a point; of a merge one that has more to do."""
    table.hold(point)
    run_id = table.trigger()
    victim, *_ = table.held()
    return run_id, table.held_half_way(run_id) if point == CHUNK else victim


def _until_released(table: Table, run_id: str, victim: psutil.Process) -> str:
    """The state of a DAG run when a task of it has been stopped, and it and everything in it has ended."""
    until(lambda: not victim.is_running() or victim.status() == "zombie", "the end of the task that was marked")
    table.release()
    table.ended(run_id)
    until(lambda: not set(table.states(run_id).values()) & {"running", "queued", "scheduled"}, "rest")
    return table.ended(run_id)
