"""The queue at the command line, on tables in memory: requests wait, are listed, removed, and taken in turn."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.run.queue import Unqueued, WaitingRequest
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import RefreshesResult, RunResult
from airflow_refresh_provider.runner.steps import one_task
from tests.cli.conftest import Program, World

NAME = "people_copy"
MINE = Request(origin="dag one")


@pytest.fixture
def held(registered: World) -> World:
    """A definition whose run is held by the tasks of a DAG run."""
    one_task.start(registered.refreshes().ports, NAME, MINE)
    return registered


def end(world: World) -> None:
    ports = world.refreshes().ports
    for unit in one_task.fill(ports, NAME, MINE):
        one_task.merge_unit(ports, NAME, MINE, unit.unit)
    one_task.finish(ports, NAME, MINE)


def queued(here: Program, *words: str) -> str:
    ended = here("run", NAME, "--if-running", "queue", *words, "--output", "json")
    assert (ended.code, ended.json["outcome"]) == (0, "queued")
    return RunResult.model_validate(ended.json).requests[0]


@pytest.mark.usefixtures("held")
def test_a_request_waits_and_is_listed_and_removed(here: Program) -> None:
    plain, full = queued(here), queued(here, "--mode", "full", "--priority", "60")
    listed = [WaitingRequest.model_validate(one) for one in here("queue", "--output", "json").json]
    assert [(one.id, one.place, one.priority) for one in listed] == [(full, 1, 60), (plain, 2, 50)]
    shown = here("queue", NAME).out
    assert full in shown and "--mode full" in shown and "as defined" in shown
    assert "2 waiting" in here("list").out and "2 waiting" in here("show", NAME).out
    removed = Unqueued.model_validate(here("unqueue", NAME, full, "--output", "json").json)
    assert (removed.request.id, removed.waiting) == (full, 1)
    late = here("unqueue", NAME, full)
    assert late.code == 3 and "[not_waiting]" in late.err
    assert plain in here("unqueue", NAME, plain).out
    assert "nothing to show" in here("queue").out


def test_what_waits_is_due_and_taken_with_its_options(here: Program, held: World) -> None:
    full = queued(here, "--mode", "full", "--force")
    end(held)
    due = here("due", NAME, "--output", "json")
    assert (due.code, due.json["cause"]) == (0, "queued")
    found = RefreshesResult.model_validate(here("run", "--all", "--due", "--output", "json").json)
    assert found.refreshes[0].result is not None and found.refreshes[0].result.requests == (full,)
    assert full in here("history", NAME).out
    assert here("due", NAME).code == 4


def test_a_run_goes_on_with_the_queue_in_the_same_process(here: Program, held: World) -> None:
    full, plain = queued(here, "--force"), queued(here)
    end(held)
    ended = here("run", NAME, "--output", "json")
    assert RunResult.model_validate(ended.json).requests == (plain,)
    assert f"from the queue: {NAME}: succeeded" in ended.err
    assert here("queue", "--output", "json").json == []
    assert any(full in entry["requests"] for entry in here("history", NAME, "--output", "json").json)


def test_only_what_waits_is_run_on_request(here: Program, held: World) -> None:
    full = queued(here, "--force")
    end(held)
    found = RefreshesResult.model_validate(here("run", NAME, "--queued", "--output", "json").json)
    assert [step.result.requests for step in found.refreshes if step.result] == [(full,)]
    again = here("run", NAME, "--queued")
    assert again.code == 0 and "nothing to show" in again.out
    assert here("run", "--all", "--queued").code == 2


@pytest.mark.usefixtures("registered")
def test_a_priority_is_a_number_up_to_a_hundred(here: Program) -> None:
    ended = here("run", NAME, "--priority", "101")
    assert ended.code == 2 and "[bad_parameter]" in ended.err
