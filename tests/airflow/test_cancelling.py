"""Cancelling a run while its DAG runs: its tasks end, none is tried again, and the next DAG run resumes it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from airflow_refresh_provider.core.run.results import Outcome
from airflow_refresh_provider.runner.refreshes import Refreshes
from tests.airflow.conftest import Airflow
from tests.airflow.shared import BY_VNODE, Shared
from tests.airflow.test_pausing import SINGLE
from tests.unit.runner.world import NAME, row

PHASED = """
from airflow_refresh_provider import Definition, refresh_dag
refresh_dag(Definition.model_validate({definition!r}), default_args={{"retries": 2, "retry_delay": 0}})
"""
TRIED_AGAIN = SINGLE.replace("definition={definition!r}", "definition={definition!r}, retries=2, retry_delay=0")


def prepared(share: Callable[..., Shared]) -> Shared:
    shared = share(**BY_VNODE)
    shared.world.run()
    shared.world.become(*[row(i, "b") for i in range(1, 9)])
    return shared


def after_two_chunks(shared: Shared, act: Callable[[Refreshes], object]) -> None:
    commits: list[str] = []

    def step(what: str) -> None:
        if what.startswith("commit /gold"):
            commits.append(what)
            if len(commits) == 2:
                act(Refreshes(shared.world.process()))

    shared.world.lake.step = step


@pytest.mark.parametrize(("body", "merging"), [(PHASED, "merge[0]"), (TRIED_AGAIN, "refresh")])
def test_a_cancelled_dag_run_fails_without_another_try_and_the_next_one_resumes(
    airflow: Airflow, share: Callable[..., Shared], body: str, merging: str
) -> None:
    shared = prepared(share)
    after_two_chunks(shared, lambda refreshes: refreshes.cancel(NAME, by="ann"))
    dag = airflow.dag(body.format(definition=shared.definition))
    seen = airflow.run(dag)
    shared.world.lake.step = lambda _what: None
    assert (seen.state, seen.tasks[merging]) == ("failed", "failed")
    assert set(seen.tries.values()) <= {0, 1}
    assert any("cancelled by ann" in note for note in seen.notes.values())
    run = shared.world.interrupted
    assert run.cancelled is not None and run.lease.owner is None
    again = airflow.run(dag)
    assert again.state == "success"
    assert shared.world.fresh()
    newest = shared.world.refreshes.history(NAME)[0]
    assert (newest.run_id, newest.outcome) == (run.run_id, Outcome.SUCCEEDED)


@pytest.mark.parametrize("body", [PHASED, TRIED_AGAIN])
def test_a_run_that_is_cancelled_for_good_is_abandoned_by_its_own_dag_run(
    airflow: Airflow, share: Callable[..., Shared], body: str
) -> None:
    shared = prepared(share)
    page = shared.world.process()

    def abandon(_refreshes: Refreshes) -> None:
        from airflow_refresh_provider.runner.admin.cancelling import request_cancel

        request_cancel(page, NAME, None, abandon=True, by="ann")

    after_two_chunks(shared, abandon)
    seen = airflow.run(airflow.dag(body.format(definition=shared.definition)))
    assert seen.state == "failed"
    assert shared.world.record.run is None and not shared.world.staged()
    assert shared.world.refreshes.history(NAME)[0].outcome is Outcome.CANCELLED


def test_a_paused_task_that_waits_in_the_triggerer_ends_when_its_run_is_cancelled(
    airflow: Airflow, share: Callable[..., Shared], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__REFRESH__POLL_INTERVAL", "0.1")
    shared = prepared(share)
    after_two_chunks(shared, lambda refreshes: refreshes.pause(NAME))
    looks: list[bool] = []

    def look() -> None:
        looks.append(True)
        if len(looks) == 2:
            Refreshes(shared.world.process()).cancel(NAME, by="ann")

    shared.look = look
    seen = airflow.run(airflow.dag(PHASED.format(definition=shared.definition)))
    assert (seen.state, seen.tasks["merge[0]"]) == ("failed", "failed")
    assert len(looks) == 2
    assert shared.world.record.paused and shared.world.interrupted.cancelled is not None
