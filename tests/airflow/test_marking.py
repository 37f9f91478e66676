"""Marking tasks and DAG runs, on a lake in memory: nothing is published, no asset is updated, the next run goes on."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from tests.airflow.conftest import Airflow
from tests.airflow.repeating import mark_run
from tests.airflow.shared import BY_VNODE, Shared
from tests.unit.runner.world import NAME, row

PHASED = """
from airflow_refresh_provider import Definition, refresh_dag
refresh_dag(Definition.model_validate({definition!r}), default_args={{"retries": 0}})
"""


@pytest.fixture
def shared(share: Callable[..., Shared]) -> Shared:
    """A table of four units, all of whose rows have changed since its last refresh."""
    made = share(**BY_VNODE)
    made.world.run()
    made.world.become(*[row(i, "b") for i in range(9)])
    return made


@pytest.mark.parametrize(
    ("marked", "stopped", "reported"),
    [
        ("start", {"load": "failed", "finish": "upstream_failed"}, "this task has nothing left to do"),
        ("load", {"merge": "upstream_failed", "finish": "upstream_failed"}, "is unfinished"),
        ("merge", {"finish": "failed"}, "units 0, 1, 2, 3 of orders have chunks that are not in the target"),
        ("finish", {"release": "failed"}, "is unfinished"),
    ],
)
def test_a_task_that_is_marked_as_successful_instead_of_done_publishes_nothing(
    airflow: Airflow,
    shared: Shared,
    capfd: pytest.CaptureFixture[str],
    marked: str,
    stopped: dict[str, str],
    reported: str,
) -> None:
    published = shared.world.record.published
    dag = airflow.dag(PHASED.format(definition=shared.definition))

    seen = airflow.run(dag, marked=marked)

    assert (seen.state, seen.tasks["release"]) == ("failed", "failed")
    assert {name: seen.tasks[name] for name in stopped} == stopped
    assert reported in "".join(capfd.readouterr())
    assert shared.world.record.published == published
    assert airflow.asset_events(NAME, seen) == []
    again = airflow.run(dag)
    assert (again.state, again.returned["start"]["resumed"]) == ("success", marked != "start")
    assert shared.world.fresh()


@pytest.mark.usefixtures("_own_signals")
@pytest.mark.parametrize("state", ["success", "failed"])
def test_a_dag_run_that_is_marked_while_it_works_fails_and_releases(
    airflow: Airflow, shared: Shared, state: str
) -> None:
    """Airflow skips what waits, ends what works, runs the teardown, and judges the DAG run by that alone."""
    published = shared.world.record.published
    dag = airflow.dag(PHASED.format(definition=shared.definition))
    marked: list[str] = []

    def mark_at_the_first_chunk(what: str) -> None:
        if what.startswith("commit /gold") and not marked:
            marked.append(what)
            mark_run(dag, state)
            os.kill(os.getpid(), signal.SIGTERM)

    shared.world.lake.step = mark_at_the_first_chunk
    seen = airflow.run(dag)

    assert (seen.state, seen.tasks["finish"], seen.tasks["release"]) == ("failed", "skipped", "failed")
    assert shared.world.record.published == published
    assert shared.world.interrupted.lease.owner is None
    again = airflow.run(dag)
    assert (again.state, again.returned["start"]["resumed"]) == ("success", True)
    assert shared.world.fresh()
