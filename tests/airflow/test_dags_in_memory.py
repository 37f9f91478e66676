"""Every shape of DAG on a lake in memory: what its tasks end as, and that the table is never harmed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from airflow_refresh_provider.core.definition.mode import Mode
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.runner.steps import one_task
from tests.airflow.conftest import Airflow
from tests.airflow.shared import BY_VNODE, CHUNKED, Shared
from tests.unit.runner.faults import at, disconnected
from tests.unit.runner.world import INPUT, NAME, TARGET, definition, row

PHASED = """
from airflow_refresh_provider import Definition
from airflow_refresh_provider.dag_factory import refresh_dag
refresh_dag(Definition.model_validate({definition!r}), schedule=None, default_args={{"retries": 0}})
"""
SINGLE = """
from datetime import datetime
from airflow.sdk import DAG
from airflow_refresh_provider.task_context.trigger_form import trigger_form
from airflow_refresh_provider.operators.refresh_operators import RefreshOperator
with DAG("single_{name}", schedule=None, start_date=datetime(2024, 1, 1), params=trigger_form()):
    RefreshOperator(task_id="refresh", definition={definition!r})
"""


def test_a_phased_dag_refreshes_unit_by_unit(airflow: Airflow, share: Callable[..., Shared]) -> None:
    shared = share(**BY_VNODE)
    dag = airflow.dag(PHASED.format(definition=shared.definition))
    seen = airflow.run(dag)
    assert seen.state == "success"
    shared.world.become(*[row(i, "b") for i in range(1, 10)])
    seen = airflow.run(dag)
    assert seen.state == "success"
    assert set(seen.tasks.values()) == {"success"}
    assert [unit["unit"] for unit in seen.returned["load"]] == [0, 1, 2, 3]
    assert {name for name in seen.tasks if name.startswith("merge")} == {f"merge[{i}]" for i in range(4)}
    assert seen.shown == {f"merge[{i}]": f"unit {seen.returned['load'][i]['unit']}" for i in range(4)}
    assert seen.returned["finish"]["rows"]["updated"] == 8
    assert shared.world.fresh()


def test_when_nothing_moved_every_task_skips(airflow: Airflow, share: Callable[..., Shared]) -> None:
    shared = share()
    shared.world.run()
    seen = airflow.run(airflow.dag(PHASED.format(definition=shared.definition)))
    assert seen.state == "success"
    assert set(seen.tasks.values()) == {"skipped"}


def test_a_comparison_writes_nothing(airflow: Airflow, share: Callable[..., Shared]) -> None:
    shared = share()
    shared.world.run()
    shared.world.become(row(1, "c"))
    commits = len(shared.world.commits)
    seen = airflow.run(airflow.dag(PHASED.format(definition=shared.definition)), compare_only=True)
    assert set(seen.tasks.values()) == {"skipped"}
    assert len(shared.world.commits) == commits


@pytest.mark.parametrize(("shape", "first"), [(PHASED, "start"), (SINGLE, "refresh")])
def test_an_unknown_field_fails_the_first_task(
    airflow: Airflow, share: Callable[..., Shared], capfd: pytest.CaptureFixture[str], shape: str, first: str
) -> None:
    shared = share()
    dag = airflow.dag(shape.format(definition=shared.definition, name="asked"))
    assert airflow.run(dag, modes="full").tasks[first] == "failed"
    reported = "".join(capfd.readouterr())
    assert "modes: unknown in the configuration of a DAG run. Did you mean mode?" in reported
    assert (
        "with these params only: budget_bytes, budget_seconds, compare_only, force, mode, no_budget, on_interrupted"
        in reported
    )
    assert TARGET not in shared.world.lake.tables
    assert airflow.run(dag, mode="full").tasks[first] == "success"


def test_a_unit_that_fails_leaves_a_run_that_the_next_dag_run_finishes(
    airflow: Airflow, share: Callable[..., Shared]
) -> None:
    shared = share(**BY_VNODE)
    shared.world.run()
    shared.world.become(*[row(i, "b") for i in range(1, 10)])
    dag = airflow.dag(PHASED.format(definition=shared.definition))
    published = shared.world.record.published
    with at(shared.world.lake, "begin /gold", disconnected, nth=3):
        seen = airflow.run(dag)
    assert seen.state == "failed"
    assert sorted(seen.tasks[f"merge[{i}]"] for i in range(4)) == ["failed", "success", "success", "success"]
    assert (seen.tasks["finish"], seen.tasks["release"]) == ("upstream_failed", "failed")
    assert shared.world.record.published == published
    assert shared.world.interrupted.lease.owner is None
    assert shared.world.interrupted.lease.parked_until is None

    again = airflow.run(dag)
    assert again.state == "success"
    assert again.returned["start"]["resumed"]
    assert again.returned["finish"]["resumed"]
    assert sum(again.returned[f"merge[{i}]"]["skipped"] for i in range(4)) >= 3
    assert shared.world.fresh()


def test_a_dag_run_that_meets_another_run_lets_its_request_wait_if_it_says_so(
    airflow: Airflow, share: Callable[..., Shared]
) -> None:
    shared = share()
    shared.world.run()
    shared.world.become(row(1, "c"))
    one_task.start(shared.world.process(), NAME, Request(origin="elsewhere another run"))
    dag = airflow.dag(PHASED.format(definition=shared.definition))
    assert airflow.run(dag).tasks["start"] == "failed"
    seen = airflow.run(dag, if_running="queue", mode="full", priority=60)
    assert (seen.state, set(seen.tasks.values())) == ("success", {"skipped"})
    [one] = shared.world.record.queue
    assert (one.options.mode, one.priority, one.scheduled) == (Mode.FULL, 60, False)
    assert one.origin is not None and one.origin.endswith(f"{dag.dag_id} {seen.run_id}")


def test_a_budget_that_is_spent_ends_the_dag_run_well_and_the_next_one_continues(
    airflow: Airflow, share: Callable[..., Shared]
) -> None:
    shared = share(**BY_VNODE, budget={"bytes": 1})
    shared.world.run(Request(workers=1, no_budget=True))
    shared.world.become(*[row(i, "b") for i in range(1, 10)])
    dag = airflow.dag(PHASED.format(definition=shared.definition))
    published = shared.world.record.published
    seen = airflow.run(dag)
    assert seen.state == "success"
    assert {seen.tasks[f"merge[{i}]"] for i in range(4)} in ({"skipped"}, {"skipped", "success"})
    assert (seen.tasks["finish"], seen.tasks["release"]) == ("skipped", "success")
    assert shared.world.record.published == published
    assert shared.world.interrupted.stopped
    again = airflow.run(dag, no_budget=True)
    assert (again.state, again.tasks["finish"]) == ("success", "success")
    assert again.returned["start"]["reason"].startswith("its budget was spent after ")
    assert shared.world.fresh()


def test_a_small_table_that_stops_is_skipped(airflow: Airflow, share: Callable[..., Shared]) -> None:
    shared = share(**CHUNKED, budget={"bytes": 1})
    shared.world.run(Request(workers=1, no_budget=True))
    shared.world.become(*[row(i, "b") for i in range(1, 10)])
    dag = airflow.dag(SINGLE.format(definition=shared.definition, name="stopping"))
    assert airflow.run(dag).tasks == {"refresh": "skipped"}
    assert airflow.run(dag, budget_bytes="1 TB").tasks == {"refresh": "success"}
    assert shared.world.fresh()


def test_data_that_are_wrong_fail_the_dag_run_although_nothing_is_left_to_release(
    airflow: Airflow, share: Callable[..., Shared]
) -> None:
    shared = share()
    shared.world.run()
    shared.world.lake.append(INPUT, [row(1, "again")])
    seen = airflow.run(airflow.dag(PHASED.format(definition=shared.definition)))
    assert shared.world.record.run is None
    assert (seen.tasks["load"], seen.tasks["release"], seen.state) == ("failed", "failed", "failed")


@pytest.mark.parametrize(
    ("base_url", "theirs", "run_id", "taken"),
    [
        ("", "", None, True),
        ("", "", "deleted, or of another Airflow", False),
        ("http://here", "http://here", "deleted", True),
        ("http://here", "http://elsewhere", "of another Airflow", False),
    ],
)
def test_a_run_between_tasks_is_taken_over_at_once_if_its_dag_run_is_no_more(
    airflow: Airflow,
    share: Callable[..., Shared],
    monkeypatch: pytest.MonkeyPatch,
    base_url: str,
    theirs: str,
    run_id: str | None,
    taken: bool,
) -> None:
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", base_url)
    shared = share()
    dag = airflow.dag(PHASED.format(definition=shared.definition))
    first = airflow.run(dag)
    shared.world.become(row(1, "c"), *[row(i) for i in range(2, 9)])
    origin = f"{theirs} {dag.dag_id} {run_id or first.run_id}"
    found = one_task.start(shared.world.process(), NAME, Request(origin=origin))

    seen = airflow.run(dag)

    if taken:
        assert seen.state == "success"
        assert (seen.returned["start"]["run_id"], seen.returned["start"]["resumed"]) == (found.run_id, True)
        assert shared.world.fresh()
    else:
        assert (seen.state, seen.tasks["start"]) == ("failed", "failed")
        assert shared.world.interrupted.run_id == found.run_id


@pytest.mark.parametrize("phase", ["load", "finish"])
def test_a_phase_that_fails_publishes_nothing_and_the_next_dag_run_ends_it(
    phase: str, airflow: Airflow, share: Callable[..., Shared]
) -> None:
    shared = share(**CHUNKED)
    shared.world.run()
    shared.world.become(row(1, "c"), *[row(i) for i in range(2, 9)])
    dag = airflow.dag(PHASED.format(definition=shared.definition))
    published = shared.world.record.published
    point, nth = {"load": ("create memory://staging", 1), "finish": ("read newest /gold", 3)}[phase]  # after two chunks
    with at(shared.world.lake, point, disconnected, nth):
        seen = airflow.run(dag)
    assert (seen.state, seen.tasks[phase]) == ("failed", "failed")
    assert shared.world.record.published == published
    assert airflow.run(dag).state == "success"
    assert shared.world.fresh()


def test_a_small_table_needs_one_task(airflow: Airflow, share: Callable[..., Shared]) -> None:
    shared = share()
    dag = airflow.dag(SINGLE.format(name="small", definition=shared.definition))
    assert airflow.run(dag).tasks == {"refresh": "success"}
    assert shared.world.fresh()
    assert airflow.run(dag).tasks == {"refresh": "skipped"}
    assert airflow.run(dag, force=True).tasks == {"refresh": "success"}


def test_the_asset_event_says_what_was_refreshed(airflow: Airflow, share: Callable[..., Shared]) -> None:
    shared = share()
    seen = airflow.run(airflow.dag(SINGLE.format(name="asset", definition=shared.definition)))
    [event] = airflow.asset_events(NAME, seen)
    assert event["run_id"] == seen.returned["refresh"]["run_id"]
    assert event["published_version"] == seen.returned["refresh"]["published_version"]
    assert event["rows"]["inserted"] == 9
    assert (event["incremental_seconds"], event["full_seconds"]) == (None, None), "nothing says it before the first one"
    assert event["input_versions"] == seen.returned["refresh"]["input_versions"]
    reason = ("full", "full", "first_refresh", seen.returned["refresh"]["mode_reason"])
    assert tuple(event[f] for f in ("mode", "requested_mode", "mode_code", "mode_reason")) == reason


def test_the_asset_event_says_how_it_was_done_and_what_either_way_was_foreseen_to_take(
    airflow: Airflow, share: Callable[..., Shared]
) -> None:
    shared = share(mode="auto")
    dag = airflow.dag(SINGLE.format(name="asset_seconds", definition=shared.definition))
    airflow.run(dag)
    shared.world.become(row(1, "c"))
    seen = airflow.run(dag)
    [event] = airflow.asset_events(NAME, seen)
    returned = seen.returned["refresh"]
    assert (event["requested_mode"], event["mode"]) == ("auto", returned["mode"])
    assert event["full_seconds"] == returned["estimates"]["full_seconds"] is not None


BY_NAME = """
from datetime import datetime
from airflow.sdk import DAG, Asset
from airflow_refresh_provider.operators.refresh_operators import RefreshOperator
with DAG("by_name_{outlets}", schedule=None, start_date=datetime(2024, 1, 1)):
    reported = [Asset(name="orders", uri="file:///gold/orders")] * {outlets}
    RefreshOperator(task_id="refresh", definition="orders", outlets=reported)
"""


@pytest.mark.parametrize("outlets", [0, 1])
def test_an_operator_by_name_updates_the_asset_that_it_is_given(
    airflow: Airflow, share: Callable[..., Shared], outlets: int
) -> None:
    share()
    seen = airflow.run(airflow.dag(BY_NAME.format(outlets=outlets)))
    versions = [event["published_version"] for event in airflow.asset_events(NAME, seen)]
    assert versions == [seen.returned["refresh"]["published_version"]] * outlets


BARE = """
from datetime import datetime
from airflow.sdk import DAG
from airflow_refresh_provider.operators.refresh_operators import RefreshOperator
with DAG("bare_{name}", schedule=None, start_date=datetime(2024, 1, 1)):
    RefreshOperator(task_id="refresh", definition={definition!r})
"""


@pytest.mark.parametrize(
    "conf", [{"force": "false"}, {"mode": "ful"}, {"on_interrupted": 1}, {"compare_only": "no"}, {"if_running": "run"}]
)
def test_a_dag_without_the_form_takes_no_wrong_values_either(
    conf: dict[str, Any], airflow: Airflow, share: Callable[..., Shared]
) -> None:
    shared = share()
    seen = airflow.run(airflow.dag(BARE.format(name=next(iter(conf)), definition=shared.definition)), **conf)
    assert seen.tasks == {"refresh": "failed"}
    assert shared.world.record.published is None


def test_a_dag_may_have_parameters_of_its_own_beside_the_form() -> None:
    from airflow_refresh_provider import Definition, refresh_dag

    given = Definition.model_validate(definition().model_dump(mode="json", exclude_unset=True))
    dag = refresh_dag(given, params={"mine": 1, "mode": "full"})
    assert {"mine", "mode", "force", "on_interrupted", "compare_only"} <= set(dag.params)
    assert (dag.params["mine"], dag.params["mode"]) == (1, "full")


DYING = """
from datetime import datetime
from airflow.sdk import DAG
from airflow_refresh_provider.operators.refresh_operators import RefreshOperator

class Dying(RefreshOperator):
    def perform(self, context, ports):
        reported = super().perform(context, ports)
        if context["ti"].try_number == 1:
            raise ConnectionError("the process is no more")
        return reported

with DAG("dying", schedule=None, start_date=datetime(2024, 1, 1)):
    Dying(task_id="refresh", definition={definition!r}, retries=1, retry_delay=0)
"""


def test_what_a_dag_run_has_published_is_announced_by_a_task_that_comes_again(
    airflow: Airflow, share: Callable[..., Shared]
) -> None:
    """The process that published died before Airflow heard of it: its retry has nothing to do, and reports it all."""
    shared = share()
    seen = airflow.run(airflow.dag(DYING.format(definition=shared.definition)))
    assert seen.tasks == {"refresh": "success"}
    published = shared.world.record.published
    assert published and seen.returned["refresh"]["run_id"] == published.run_id
    assert [e.run_id for e in shared.world.refreshes.history(NAME)] == [published.run_id]
