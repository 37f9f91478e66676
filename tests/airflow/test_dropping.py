"""Dropping a definition while its DAG runs: its tasks fail with that error, and are not tried again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from airflow_refresh_provider.core.run.results import Outcome
from airflow_refresh_provider.runner.refreshes import Refreshes
from tests.airflow.conftest import Airflow
from tests.airflow.shared import Shared
from tests.unit.runner.world import NAME, row

PHASED = """
from datetime import timedelta
from airflow_refresh_provider import Definition, refresh_dag
refresh_dag(
    Definition.model_validate({definition!r}), default_args={{"retries": 3, "retry_delay": timedelta(seconds=0)}}
)
"""
SINGLE = """
from datetime import datetime, timedelta
from airflow.sdk import DAG
from airflow_refresh_provider import RefreshOperator
with DAG("dropped", schedule=None, start_date=datetime(2024, 1, 1)):
    RefreshOperator(task_id="refresh", definition={definition!r}, retries=3, retry_delay=timedelta(seconds=0))
"""


@pytest.mark.parametrize(
    ("body", "at_work", "point", "processes"),
    [
        (SINGLE, "refresh", "commit /gold", 1),
        (PHASED, "load", "commit memory://staging", 3),
        (PHASED, "merge[0]", "commit /gold", 4),
    ],
)
def test_tasks_of_a_definition_that_is_dropped_fail_once_and_say_so(
    airflow: Airflow,
    share: Callable[..., Shared],
    capsys: pytest.CaptureFixture[str],
    body: str,
    at_work: str,
    point: str,
    processes: int,
) -> None:
    shared = share()
    shared.world.run()
    shared.world.become(*[row(i, "b") for i in range(1, 9)])
    dag = airflow.dag(body.format(definition=shared.definition))
    dropped: list[str] = []

    def step(what: str) -> None:
        if what.startswith(point) and not dropped:
            dropped.append(what)
            Refreshes(shared.world.process()).drop(NAME, stop=True)

    shared.world.lake.step = step
    seen = airflow.run(dag)

    assert (seen.state, seen.tasks[at_work]) == ("failed", "failed")
    assert len(shared.ports) == processes
    assert "the definition has been dropped" in "".join(capsys.readouterr())
    assert shared.world.record.dropped
    assert not shared.world.staged()
    assert shared.world.refreshes.history(NAME)[0].outcome is Outcome.ABANDONED
