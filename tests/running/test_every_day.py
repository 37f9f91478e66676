"""An ordinary day of a DAG of refreshes: kills, clears, pauses, wrong values, a second DAG, inputs that move."""

from __future__ import annotations

import pytest
from deltalake import DeltaTable

from tests.running.site import until
from tests.running.table import ONE_TASK, Table, run_cli

NO_RETRIES = "default_args={'retries': 0}"
SOON = 60.0
"""Seconds: far less than the interval of the schedule, and enough for a scheduler that has half a processor."""


def test_a_killed_task_is_tried_again_and_skips_what_is_in(table: Table) -> None:
    table.deploy()
    table.hold()
    run_id = table.trigger()
    victim = table.held_half_way(run_id)
    index = table.index_of(run_id, victim)
    victim.kill()
    table.release()

    assert table.ended(run_id) == "success"
    task = table.tasks(run_id)[f"merge[{index}]"]
    assert task.tries == 2
    reported = table.airflow.rest.returned(table.dag_id, run_id, "merge", index)
    assert (reported["chunks"], reported["skipped"]) == (3, 1)
    assert table.fresh()


@pytest.mark.slow
def test_a_single_task_that_is_killed_half_way_goes_on_after_its_last_commits(table: Table) -> None:
    table.deploy("default_args={'retries': 1, 'retry_delay': timedelta(seconds=1)}", tasks=ONE_TASK)
    table.hold()
    run_id = table.trigger()
    [victim] = table.held()
    victim.kill()
    table.release()

    assert table.ended(run_id) == "success"
    assert table.tasks(run_id)["refresh"].tries == 2
    reported = table.airflow.rest.returned(table.dag_id, run_id, "refresh")
    assert reported["resumed"]
    assert 1 <= reported["chunks"]["skipped"] < reported["chunks"]["done"] == 8
    assert reported["published_version"] == table.published
    assert table.fresh()


@pytest.mark.slow
def test_a_unit_that_failed_is_cleared_with_what_follows(table: Table) -> None:
    table.deploy(NO_RETRIES)
    table.fail()
    published = table.published
    run_id = table.trigger()
    assert table.ended(run_id) == "failed"
    states = table.states(run_id)
    assert (states["finish"], states["release"]) == ("upstream_failed", "failed")
    assert table.published == published

    table.fail(wanted=False)
    table.acts.clear(table.dag_id, run_id, "merge", downstream=True)
    assert table.ended(run_id) == "success"
    assert table.fresh()


@pytest.mark.slow
def test_a_pause_frees_the_workers_and_ends_where_it_began(table: Table) -> None:
    table.deploy()
    table.hold()
    run_id = table.trigger()
    table.held()
    assert run_cli(table, "pause")["paused"]
    table.release()
    until(lambda: "deferred" in table.states(run_id).values(), "a task that waits for the end of the pause")
    assert run_cli(table, "resume")["paused"] is False
    assert table.ended(run_id) == "success"
    assert table.fresh()


def test_a_bad_value_in_the_form_is_refused_with_its_name(table: Table) -> None:
    table.deploy()
    answer = table.acts.trigger(table.dag_id, on_interrupted="maybe")
    assert answer.status_code == 400
    assert "on_interrupted" in answer.text
    assert table.acts.runs(table.dag_id) == {}


@pytest.mark.slow
def test_two_dags_for_one_definition_do_not_get_in_each_others_way(table: Table) -> None:
    other = f"{table.dag_id}.other"
    table.deploy(NO_RETRIES, table.dag_id, other)
    table.hold()
    run_id = table.trigger()
    table.held()
    second = str(table.acts.trigger(other).raise_for_status().json()["dag_run_id"])
    assert table.ended(second, other) == "failed"
    refused = {task.task_id: task.state for task in table.airflow.rest.tasks(other, second)}
    assert (refused["start"], refused["release"]) == ("failed", "upstream_failed")
    assert "is being refreshed by" in table.acts.log(other, second, "start", 1)
    table.release()
    assert table.ended(run_id) == "success"
    assert table.fresh()


@pytest.mark.slow
def test_a_commit_to_an_input_begins_a_refresh_within_seconds(table: Table) -> None:
    table.deploy(refresh={"on_change": True})
    until(lambda: len(started(table)) == 1, "the first check")
    assert table.ended(started(table)[0]) == "success"
    until(lambda: len(by_the_clock(table)) == 1, "the first run by the clock")
    assert table.ended(by_the_clock(table)[0]) == "success"
    assert table.fresh()

    table.change()
    committed = DeltaTable(str(table.folder / "silver")).history(1)[0]["timestamp"] / 1000
    until(lambda: len(started(table)) == 2, "a run that follows a commit")
    second = started(table)[1]
    assert table.ended(second) == "success"
    assert table.fresh()
    assert table.acts.due_at(table.dag_id, second).timestamp() - committed < SOON

    DeltaTable(str(table.folder / "silver")).optimize.compact()
    DeltaTable(str(table.folder / "silver")).alter.set_table_properties({"delta.appendOnly": "false"})
    table.change()
    until(lambda: len(started(table)) == 3, "a run that follows a commit, and none that follows maintenance")
    assert table.ended(started(table)[2]) == "success"
    assert table.fresh()


def started(table: Table) -> list[str]:
    """The runs that began because of an input, in order."""
    return sorted(run_id for run_id in table.acts.runs(table.dag_id) if run_id.startswith("asset_triggered"))


def by_the_clock(table: Table) -> list[str]:
    return sorted(run_id for run_id in table.acts.runs(table.dag_id) if run_id.startswith("scheduled"))
