"""SIGKILL to a task, its supervisor, the scheduler, the triggerer: the refresh goes on after its last commit."""

from __future__ import annotations

import psutil
import pytest

from tests.running.conftest import Site
from tests.running.site import until
from tests.running.table import Table, run_cli

pytestmark = pytest.mark.slow


def test_a_task_whose_supervisor_was_killed_works_on_beside_its_successor_and_changes_nothing(table: Table) -> None:
    table.deploy()
    table.hold()
    run_id = table.trigger()
    left_over, *_ = table.held()
    index = table.index_of(run_id, left_over)
    supervisor = left_over.parent()
    assert supervisor is not None
    supervisor.kill()
    until(lambda: table.tasks(run_id)[f"merge[{index}]"].tries == 2, "a second try")
    assert left_over.is_running()
    table.release()

    assert table.ended(run_id) == "success"
    assert table.fresh()
    published = table.published
    _, alive = psutil.wait_procs([left_over], timeout=60)
    for process in alive:
        process.kill()
    assert table.published == published
    assert table.fresh()


def test_a_scheduler_that_is_killed_and_restarted_brings_the_run_to_its_end(table: Table, site: Site) -> None:
    table.deploy()
    table.hold()
    run_id = table.trigger()
    table.held()
    site.airflow.kill("scheduler")
    site.airflow.launch("scheduler")
    table.release()

    assert table.ended(run_id) == "success"
    assert table.fresh()


@pytest.mark.parametrize("ends", ["before", "after"])
def test_a_pause_that_ends_before_or_after_a_killed_triggerer_is_restarted_is_resumed_after(
    table: Table, site: Site, ends: str
) -> None:
    table.deploy()
    table.hold()
    run_id = table.trigger()
    table.held(units=4)
    run_cli(table, "pause")
    table.release()
    until(lambda: "deferred" in table.states(run_id).values(), "a task that waits for the end of the pause")
    published = table.published
    site.airflow.kill("triggerer")
    if ends == "before":
        run_cli(table, "resume")
    site.airflow.launch("triggerer")
    if ends == "after":
        assert "deferred" in table.states(run_id).values()
        assert table.published == published
        run_cli(table, "resume")

    assert table.ended(run_id) == "success"
    assert table.fresh()


def test_a_unit_that_fails_is_tried_again_by_itself(table: Table) -> None:
    table.deploy()
    table.fail()
    run_id = table.trigger()
    until(lambda: any(task.tries == 2 for task in table.tasks(run_id).values()), "a second try")
    table.fail(wanted=False)

    assert table.ended(run_id) == "success"
    assert table.fresh()


@pytest.mark.parametrize("deleted", [False, True])
def test_a_dag_run_that_takes_too_long_leaves_its_run_to_the_next(table: Table, deleted: bool) -> None:
    table.deploy("dagrun_timeout=timedelta(seconds=60)")
    table.hold()
    published = table.published
    run_id = table.trigger()
    table.held()
    assert table.ended(run_id) == "failed"
    assert table.published == published
    table.release()
    if deleted:
        assert table.acts.delete_run(table.dag_id, run_id) == 204
    table.deploy()
    again = table.trigger()
    assert table.ended(again) == "success"
    assert table.airflow.rest.returned(table.dag_id, again, "start")["resumed"]
    assert table.fresh()
