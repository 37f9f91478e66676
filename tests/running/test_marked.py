"""Tasks and DAG runs that a person marks, clears and deletes: nothing half done is ever published."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.running.site import until
from tests.running.table import Table

NO_RETRIES = "default_args={'retries': 0}"

pytestmark = pytest.mark.slow


def _mark_merge(state: str) -> Callable[[Table, str, int], None]:
    return lambda table, run_id, index: table.acts.mark_task(table.dag_id, run_id, "merge", index, state)


def _mark_run(state: str) -> Callable[[Table, str, int], None]:
    return lambda table, run_id, _index: table.acts.mark_run(table.dag_id, run_id, state)


@pytest.mark.parametrize(
    "mark",
    [
        _mark_merge("success"),
        _mark_merge("failed"),
        _mark_run("success"),
        _mark_run("failed"),
    ],
    ids=["merge_success", "merge_failed", "run_success", "run_failed"],
)
def test_marking_at_work_publishes_nothing(table: Table, mark: Callable[[Table, str, int], None]) -> None:
    table.deploy(NO_RETRIES)
    table.hold()
    published = table.published
    run_id = table.trigger()
    victim, *_ = table.held()
    mark(table, run_id, table.index_of(run_id, victim))
    until(lambda: not victim.is_running() or victim.status() == "zombie", "the end of the task that was marked")
    table.let_go()
    table.ended(run_id)
    until(lambda: not set(table.states(run_id).values()) & {"running", "queued", "scheduled"}, "rest")

    # All of its chunks may have been in: then it was complete, and not before.
    assert table.published == published or table.fresh()
    table.ended(table.trigger())
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
    assert table.ended(table.trigger()) == "success"
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
    table.let_go()
    again = table.trigger()
    assert table.ended(again) == "success"
    assert table.airflow.rest.returned(table.dag_id, again, "start")["resumed"]
    assert table.fresh()
