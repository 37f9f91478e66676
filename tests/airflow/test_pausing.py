"""Pausing a definition while its DAG runs: tasks wait in the triggerer and go on where they were."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from airflow_refresh_provider.runner.refreshes import Refreshes
from tests.airflow.conftest import Airflow
from tests.airflow.shared import BY_VNODE, Shared
from tests.unit.runner.world import NAME, row

PHASED = """
from airflow_refresh_provider import Definition, refresh_dag
refresh_dag(Definition.model_validate({definition!r}), default_args={{"retries": 0}})
"""
SINGLE = """
from datetime import datetime
from airflow.sdk import DAG
from airflow_refresh_provider import RefreshOperator
with DAG("paused", schedule=None, start_date=datetime(2024, 1, 1)):
    RefreshOperator(task_id="refresh", definition={definition!r})
"""


@pytest.mark.parametrize(("body", "merging"), [(PHASED, "merge[0]"), (SINGLE, "refresh")])
def test_a_pause_holds_the_dag_run_and_its_end_lets_it_go_on(
    airflow: Airflow,
    share: Callable[..., Shared],
    monkeypatch: pytest.MonkeyPatch,
    body: str,
    merging: str,
) -> None:
    monkeypatch.setenv("AIRFLOW__REFRESH__POLL_INTERVAL", "0.1")
    shared = share(**BY_VNODE)
    shared.world.run()
    shared.world.become(*[row(i, "b") for i in range(1, 9)])
    _pause_after_two_chunks(shared)
    looks = _resume_at_the_third_look(shared)

    seen = airflow.run(airflow.dag(body.format(definition=shared.definition)))

    assert (seen.state, seen.tasks[merging]) == ("success", "success")
    assert looks == [True, True, False]
    assert shared.world.fresh()
    assert shared.world.record.generation > 0


def _pause_after_two_chunks(shared: Shared) -> None:
    commits: list[str] = []

    def step(what: str) -> None:
        if what.startswith("commit /gold"):
            commits.append(what)
            if len(commits) == 2:
                Refreshes(shared.world.process()).pause(NAME)

    shared.world.lake.step = step


def _resume_at_the_third_look(shared: Shared) -> list[bool]:
    """End the pause when a trigger has found it twice; what each look finds."""
    looks: list[bool] = []

    def look() -> None:
        refreshes = Refreshes(shared.world.process())
        if len(looks) == 2:
            refreshes.resume(NAME)
        looks.append(refreshes.show(NAME).paused)

    shared.look = look
    return looks
