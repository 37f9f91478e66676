"""The page in Airflow: for which run a DAG run waits by itself, so that nothing has to be queued."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.airflow_plugin.starter import DagStarter
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.task_context.binding import origin_of
from tests.unit.runner.phased import changed, started
from tests.unit.runner.world import NAME


@pytest.mark.parametrize(
    ("origin", "waits"),
    [
        (origin_of(f"refresh.{NAME}", "manual__1"), True),
        ("http://airflow refresh.orders manual__1", True),
        ("http://airflow sales_mart scheduled__1", False),
        (None, False),
    ],
)
def test_a_dag_run_waits_for_a_run_of_the_same_dag_alone(origin: str | None, waits: bool) -> None:
    world = changed()
    started(world, Request(origin=origin))
    assert DagStarter().waits_for(NAME, world.interrupted) is waits


def test_the_page_says_what_takes_a_request() -> None:
    assert f"the next DAG run of refresh.{NAME} that is due" in DagStarter().follow(NAME)
