"""Pausing a definition while its DAG runs: tasks wait in the triggerer and go on where they were."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.triggers.refresh import RefreshTrigger
from tests.airflow.conftest import Airflow
from tests.airflow.shared import Shared
from tests.unit.runner.world import NAME, row

BY_VNODE = {
    "layout": "vnode",
    "vnodes": 4,
    "visibility": "live",
    "chunking": {"one_commit_up_to": 1, "chunk_rows": 1},
}
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
    waits: list[str] = []
    _pause_after_two_chunks(shared)
    _resume_when_somebody_waits(shared, monkeypatch, waits)

    seen = airflow.run(airflow.dag(body.format(definition=shared.definition)))

    assert (seen.state, seen.tasks[merging]) == ("success", "success")
    assert waits
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


def _resume_when_somebody_waits(shared: Shared, monkeypatch: pytest.MonkeyPatch, waits: list[str]) -> None:
    """End the pause half a second after a real trigger began to look."""
    real = RefreshTrigger.serialize

    def serialize(trigger: RefreshTrigger) -> tuple[str, dict[str, object]]:
        if not waits:
            resume = Refreshes(shared.world.process()).resume
            threading.Timer(0.5, resume, [NAME]).start()
        waits.append(trigger.name)
        return real(trigger)

    monkeypatch.setattr(RefreshTrigger, "serialize", serialize)
