"""Scheduled tasks that have nothing to do, or not yet: what they end as, and that tasks by hand are not asked."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowSkipException

from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import RunResult, StartedRun
from airflow_refresh_provider.errors import Invalid, Refused
from airflow_refresh_provider.runner.steps import one_task
from airflow_refresh_provider.task_context import binding
from airflow_refresh_provider.testing.memory_lake import BEGINNING
from tests.airflow.conftest import Airflow
from tests.airflow.shared import Shared
from tests.airflow.test_dags_in_memory import PHASED
from tests.unit.runner.world import INPUT, NAME, World, row


def check(world: World, run_type: str, *, cascaded: bool = False, **params: Any) -> None:
    context: Any = {"dag_run": SimpleNamespace(run_type=run_type), "params": params}
    binding.check_due(context, world.ports, NAME, cascaded=cascaded)


def refreshed(**refresh: Any) -> World:
    world = World(row(1), refresh=refresh)
    world.run()
    return world


def test_a_scheduled_task_skips_when_rows_only_moved_to_other_files() -> None:
    world = refreshed(interval="1 h")
    world.lake.optimize(INPUT)
    with pytest.raises(AirflowSkipException, match="no input has changed a row"):
        check(world, "scheduled")
    check(world, "manual")


def test_a_scheduled_task_of_a_suspended_definition_skips_with_the_reason() -> None:
    world = refreshed(interval="1 h")
    world.lake.append(INPUT, [row(2)])
    world.refreshes.suspend(NAME, "we look into it")
    with pytest.raises(AirflowSkipException, match="it is suspended: we look into it"):
        check(world, "scheduled")


def test_force_applies_to_manual_and_scheduled_runs() -> None:
    world = refreshed(interval="1 h")
    with pytest.raises(AirflowSkipException):
        check(world, "operator_triggered", force=False)
    check(world, "operator_triggered", force=True)


def test_an_input_that_is_gone_is_reported_and_counted_by_the_refresh() -> None:
    world = refreshed(interval="1 h", suspend_after=1)
    world.lake.remove(INPUT)
    check(world, "scheduled")
    with pytest.raises(Invalid):
        one_task.start(world.ports, NAME, Request(scheduled=True))
    assert world.record.suspended
    with pytest.raises(AirflowSkipException, match="it is suspended"):
        check(world, "scheduled")


def test_a_part_of_a_cascade_neither_waits_nor_is_skipped_for_being_suspended() -> None:
    world = refreshed(on_change=True, at_most_every="1 h")
    world.lake.append(INPUT, [row(2)])
    check(world, "scheduled", cascaded=True)
    world.refreshes.suspend(NAME, "we look into it")
    check(world, "scheduled", cascaded=True)
    with pytest.raises(Refused, match="is suspended"):
        one_task.start(world.ports, NAME, Request(scheduled=True))


@pytest.mark.parametrize("schedule", [{"interval": "1 h"}, {"cron": "0 6 * * *"}, {}])
def test_young_changes_are_taken_along_when_the_dag_has_its_moment(schedule: dict[str, Any]) -> None:
    world = refreshed(**schedule)
    world.lake.append(INPUT, [row(2)])
    check(world, "scheduled")


def test_a_refresh_on_change_waits_until_enough_time_has_passed() -> None:
    world = refreshed(on_change=True, at_most_every="1 h")
    world.lake.append(INPUT, [row(2)])
    with pytest.raises(binding.DeferUntil) as caught:
        check(world, "asset_triggered")
    assert caught.value.moment == BEGINNING + timedelta(hours=1)


@pytest.mark.parametrize("run_type", ["scheduled", "asset_triggered", "backfill"])
def test_a_run_that_meets_another_of_its_dag_skips_unless_it_is_by_hand(run_type: str) -> None:
    world = World(row(1))
    asked = {kind: binding.request(of_dag_run(kind, f"{kind}__now")) for kind in (run_type, "manual")}
    assert isinstance(
        one_task.start(world.ports, NAME, binding.request(of_dag_run("backfill", "backfill__x"))), StartedRun
    )
    met = one_task.start(world.process(), NAME, asked[run_type])
    assert isinstance(met, RunResult)
    assert isinstance(binding.skip(met), AirflowSkipException)
    assert "held by the tasks of dag backfill__x" in str(binding.skip(met))
    with pytest.raises(Refused, match="is being refreshed by"):
        one_task.start(world.process(), NAME, asked["manual"])


def of_dag_run(run_type: str, run_id: str) -> Any:
    """The context of a task."""
    names: dict[str, Any] = {"ti": SimpleNamespace(dag_id="dag"), "run_id": run_id, "params": {}}
    return names | {"dag_run": SimpleNamespace(run_type=run_type)}


def test_failures_of_runs_by_hand_do_not_count(airflow: Airflow, share: Callable[..., Shared]) -> None:
    shared = share(refresh={"interval": "1 h", "suspend_after": 1})
    shared.world.lake.append(INPUT, [row(1)])
    seen = airflow.run(airflow.dag(PHASED.format(definition=shared.definition)))
    assert "failed" in seen.tasks.values()
    assert (shared.world.record.failures, shared.world.record.suspended) == (0, None)


def test_the_form_may_choose_how_changes_are_found(airflow: Airflow, share: Callable[..., Shared]) -> None:
    shared = share(mode="incremental")
    shared.world.run()
    dag = airflow.dag(PHASED.format(definition=shared.definition))
    shared.world.lake.append(INPUT, [row(20)])
    assert airflow.run(dag).returned["finish"]["windows"] == {"x": [1, 2]}
    shared.world.lake.append(INPUT, [row(21)])
    assert airflow.run(dag, mode="full").returned["finish"]["mode"] == "full"
    assert shared.world.fresh()
