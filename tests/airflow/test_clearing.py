"""Clearing tasks of a DAG run, on a lake in memory: each finds its own run or begins one, and what is in is skipped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import count

import pytest

from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.runner.refreshes import Refreshes
from tests.airflow.conftest import Airflow
from tests.airflow.repeating import Task
from tests.airflow.shared import BY_VNODE, Shared
from tests.unit.runner.faults import at, disconnected
from tests.unit.runner.world import NAME, row

PHASED = """
from datetime import timedelta
from airflow_refresh_provider import Definition, refresh_dag
given = Definition.model_validate({definition!r})
again = {{"retries": {retries}, "retry_delay": timedelta(0)}}
refresh_dag(given, dag_id="cleared_with_{retries}_retries", default_args=again)
"""
ROWS = range(9)
UNITS = [f"merge[{index}]" for index in range(4)]


def changed(shared: Shared, rows: Iterable[int], value: str) -> None:
    """Another value in these rows of the input; all others have their first one."""
    shared.world.become(*[row(i, value if i in rows else "a") for i in ROWS])


def dag_file(shared: Shared, retries: int = 0) -> str:
    """Airflow looks up how often a cleared task may be tried, and what it knows of a DAG's name may be old."""
    return PHASED.format(definition=shared.definition, retries=retries)


@contextmanager
def no_session(shared: Shared, which: range) -> Iterator[None]:
    """Spark cannot be reached when these of its sessions are opened, counted from now on."""
    opened = count()

    def step(what: str) -> None:
        if what == "open session" and next(opened) in which:
            raise disconnected()

    shared.world.lake.step = step
    yield
    shared.world.lake.step = lambda _what: None


@pytest.fixture
def shared(share: Callable[..., Shared]) -> Shared:
    """A table of four units, all of whose rows have changed since its last refresh."""
    made = share(**BY_VNODE)
    made.world.run()
    changed(made, ROWS, "b")
    return made


@pytest.mark.parametrize(
    ("cleared", "before", "after", "states"),
    [
        ("load", ROWS, range(1), ["success", "removed", "removed", "removed"]),
        ("start", range(1), ROWS, ["success", "success", "success", "success"]),
    ],
    ids=["fewer", "more"],
)
def test_a_load_that_comes_again_may_return_other_units(
    airflow: Airflow,
    share: Callable[..., Shared],
    cleared: str,
    before: range,
    after: range,
    states: list[str],
) -> None:
    """Another caller has finished its run and the input has changed since, so that it starts another."""
    shared = share(**BY_VNODE)
    shared.world.run()
    changed(shared, before, "b")
    dag = airflow.dag(dag_file(shared))
    with at(shared.world.lake, "begin /gold", disconnected):
        first = airflow.run(dag)
    assert first.state == "failed"
    assert Refreshes(shared.world.process()).run(NAME, Request()).resumed
    shared.world.become(*[row(i, "c" if i in after else "b" if i in before else "a") for i in ROWS])

    again = airflow.clear(dag, first.run_id, cleared, downstream=True)

    assert again.state == "success"
    assert again.returned["start"]["run_id"] != first.returned["start"]["run_id"]
    assert [again.tasks[unit] for unit in UNITS] == states
    assert shared.world.fresh()


@pytest.mark.parametrize("cleared", ["load", "failed unit", pytest.param("everything", marks=pytest.mark.slow)])
def test_what_is_cleared_with_what_follows_goes_on_with_its_own_run(
    airflow: Airflow, shared: Shared, cleared: str
) -> None:
    dag = airflow.dag(dag_file(shared))
    with at(shared.world.lake, "begin /gold", disconnected, nth=5):
        first = airflow.run(dag)
    [unit] = [index for index, name in enumerate(UNITS) if first.tasks[name] == "failed"]
    assert first.state == "failed"
    assert shared.world.staged()
    tasks: dict[str, tuple[Task, ...]] = {"load": ("load",), "failed unit": (("merge", unit),), "everything": ()}

    again = airflow.clear(dag, first.run_id, *tasks[cleared], downstream=cleared != "everything")

    assert (again.state, set(again.tasks.values())) == ("success", {"success"})
    assert again.returned["start"]["run_id"] == first.returned["start"]["run_id"]
    assert again.returned["start"]["resumed"]
    assert again.returned["finish"]["resumed"]
    assert (again.tries["start"], again.tries["release"]) == (2, 2)
    repeated = [again.returned[name] for i, name in enumerate(UNITS) if i != unit and again.tries[name] == 2]
    assert len(repeated) == (0 if cleared == "failed unit" else 3)
    assert all(reported["skipped"] == reported["chunks"] for reported in repeated)
    assert shared.world.fresh()


@pytest.mark.parametrize(
    "cleared", ["load", *(pytest.param(task, marks=pytest.mark.slow) for task in ("start", "merge", "finish"))]
)
def test_what_is_cleared_without_what_follows_publishes_nothing_and_the_next_dag_run_ends_it(
    airflow: Airflow, shared: Shared, cleared: str
) -> None:
    published = shared.world.record.published
    dag = airflow.dag(dag_file(shared))
    with at(shared.world.lake, "begin /gold", disconnected, nth=5):
        first = airflow.run(dag)

    again = airflow.clear(dag, first.run_id, cleared, downstream=False)

    merged = {"success"} if cleared == "merge" else {"success", "failed"}
    assert {again.tasks[unit] for unit in UNITS} == merged
    assert (again.state, again.tasks["finish"], again.tasks["release"]) == ("failed", "upstream_failed", "failed")
    assert (again.tries["start"], again.tries["release"]) == (2, 2)
    assert shared.world.record.published == published
    assert shared.world.staged()

    last = airflow.run(dag)
    assert (last.state, last.returned["start"]["resumed"]) == ("success", True)
    assert last.returned["start"]["run_id"] == first.returned["start"]["run_id"]
    assert shared.world.fresh()


def test_units_are_tried_again_as_often_as_they_may_and_after_a_clear_as_often_once_more(
    airflow: Airflow, shared: Shared
) -> None:
    dag = airflow.dag(dag_file(shared, retries=1))
    with no_session(shared, range(1, 9)):  # load has the first, then each unit tries twice
        first = airflow.run(dag)
    assert (first.state, {first.tries[unit] for unit in UNITS}) == ("failed", {2})
    assert {first.tasks[unit] for unit in UNITS} == {"failed"}

    with no_session(shared, range(1, 2)):  # start has the first, to fence the owner before
        again = airflow.clear(dag, first.run_id, "merge", downstream=True)
    assert (again.state, sorted(again.tries[unit] for unit in UNITS)) == ("success", [3, 3, 3, 4])
    assert again.returned["start"]["run_id"] == first.returned["start"]["run_id"]
    assert again.returned["start"]["resumed"]
    assert shared.world.fresh()


@pytest.mark.parametrize("cleared", [("merge", 3), "finish"], ids=["unit", "finish"])
def test_what_is_cleared_after_a_success_has_nothing_to_do(airflow: Airflow, shared: Shared, cleared: Task) -> None:
    dag = airflow.dag(dag_file(shared))
    first = airflow.run(dag)
    published, commits = shared.world.record.published, len(shared.world.commits)

    again = airflow.clear(dag, first.run_id, cleared, downstream=True)

    assert again.state == "success"
    assert {again.tasks[name] for name in ("start", "finish", "release")} == {"skipped"}
    assert (shared.world.record.published, len(shared.world.commits)) == (published, commits)
    assert len(airflow.asset_events(NAME, again)) == 1
