"""A run that is recovered, taken over or abandoned from the page: only what its state allows, and no later run."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from airflow_refresh_provider.core.run.admin_results import RecoveryOutcome
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import Outcome
from airflow_refresh_provider.core.run.run_detail import RunDetail
from airflow_refresh_provider.core.run.steering import Act
from airflow_refresh_provider.errors import Refused
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.runner.steps import one_task
from tests.unit.page.site import TOKEN, WITH_TOKEN, NotedStarter, browser
from tests.unit.page.test_pages import interrupted
from tests.unit.runner.phased import changed, started
from tests.unit.runner.world import NAME, World, definition, row

RUNS = f"/definitions/{NAME}/runs"
BUTTONS = {
    Act.RECOVER: 'id="to-recover"',
    Act.TAKE_OVER: 'id="to-take-over"',
    Act.CANCEL: 'id="to-cancel"',
    Act.ABANDON: 'id="to-abandon"',
}


def left() -> World:
    """A run whose process is gone."""
    world = interrupted()
    world.die(world.ports)
    return world


def parked() -> World:
    """A run that is kept for the next task of its DAG run."""
    world = changed()
    started(world)
    return world


def offered(world: World, visitor: str = "editor") -> set[Act]:
    """What the pages of a definition and of its run offer; both offer the same."""
    client = browser(world.refreshes, visitor)
    pages = [client.get(path).text for path in (f"/definitions/{NAME}", f"{RUNS}/{world.interrupted.run_id}")]
    found = [{act for act, button in BUTTONS.items() if button in page} for page in pages]
    assert found[0] == found[1]
    return found[0]


def test_an_interrupted_run_is_recovered_cancelled_or_abandoned() -> None:
    assert offered(left()) == {Act.RECOVER, Act.CANCEL, Act.ABANDON}


def test_a_run_that_is_held_or_kept_is_taken_over_cancelled_or_abandoned() -> None:
    assert offered(parked()) == {Act.TAKE_OVER, Act.CANCEL, Act.ABANDON}


def test_a_cancelled_run_is_only_abandoned_and_one_cancelled_for_good_is_left_alone() -> None:
    world = left()
    world.refreshes.cancel(NAME)
    assert offered(world) == {Act.ABANDON}
    browser(world.refreshes).post(f"{RUNS}/{world.interrupted.run_id}/cancel", data={"token": TOKEN, "abandon": "true"})
    assert offered(world) == set()


def test_a_paused_run_waits_for_its_resumption() -> None:
    world = left()
    world.refreshes.pause(NAME)
    assert offered(world) == {Act.CANCEL, Act.ABANDON}


def test_a_run_whose_budget_is_spent_is_continued_by_the_next_one() -> None:
    world = World(*[row(i) for i in range(9)], visibility="live", chunking={"one_commit_up_to": 1, "chunk_rows": 1})
    world.run()
    world.become(*[row(i, "b") for i in range(9)])
    world.run(Request(workers=1, budget_bytes="1 B"))
    assert offered(world) == {Act.CANCEL, Act.ABANDON}


def test_a_visitor_who_may_change_nothing_sees_commands_instead_of_buttons() -> None:
    world = parked()
    assert offered(world, "viewer") == set()
    page = browser(world.refreshes, "viewer").get(f"{RUNS}/{world.interrupted.run_id}").text
    assert f"airflow-refresh run {NAME} --take-over" in page
    form = browser(world.refreshes, "viewer").get(f"{RUNS}/{world.interrupted.run_id}/take-over").text
    assert "You may not do this" in form and "do-take-over" not in form


@pytest.mark.parametrize(
    ("world", "way", "wanted", "command"),
    [
        (left, "recover", Request(), "airflow-refresh recover orders"),
        (parked, "take-over", Request(take_over=True), "airflow-refresh run orders --take-over"),
    ],
)
def test_a_form_asks_once_more_and_starts_what_continues_this_run_alone(
    world: Callable[[], World], way: str, wanted: Request, command: str
) -> None:
    made, starter = world(), NotedStarter()
    run_id = made.interrupted.run_id
    editor = browser(made.refreshes, starter=starter)
    form = editor.get(f"{RUNS}/{run_id}/{way}").text
    assert f'action="{RUNS}/{run_id}/{way}"' in form and command in form and "after its last chunk" in form
    answer = editor.post(f"{RUNS}/{run_id}/{way}", data={"token": TOKEN})
    assert answer.status_code == 200 and "a noted run" in answer.text
    program = browser(made.refreshes, "program", starter).post(f"/api/v1{RUNS}/{run_id}/{way}")
    assert (program.status_code, program.json()["started"]) == (200, "a noted run")
    only = wanted.model_copy(update={"only_run": run_id})
    assert starter.started == [("editor", NAME, only), ("program", NAME, only)]


def test_the_form_of_abandoning_is_that_of_a_cancellation_with_its_choice_made() -> None:
    world = left()
    form = browser(world.refreshes).get(f"{RUNS}/{world.interrupted.run_id}/cancel?abandon=true").text
    assert 'value="true" checked' in form and 'value="false">' in form


@pytest.mark.parametrize("way", ["recover", "take-over"])
def test_a_run_that_has_ended_is_a_race_that_was_lost(way: str) -> None:
    world, starter = left(), NotedStarter()
    run_id = world.interrupted.run_id
    Refreshes(world.process()).recover(NAME)
    editor = browser(world.refreshes, starter=starter)
    late = editor.post(f"/api/v1{RUNS}/{run_id}/{way}", headers=WITH_TOKEN)
    assert (late.status_code, late.json()["error"]["code"]) == (409, "run_over")
    assert editor.get(f"{RUNS}/{run_id}/{way}").status_code == 409
    assert editor.post(f"{RUNS}/{run_id}/{way}", data={"token": TOKEN}).status_code == 409
    assert not starter.started


def test_a_later_run_is_neither_recovered_nor_taken_over() -> None:
    world, starter = left(), NotedStarter()
    first = world.interrupted.run_id
    Refreshes(world.process()).abandon(NAME)
    later = one_task.start(world.process(), NAME, Request(origin="dag/two"))
    late = browser(world.refreshes, "program", starter).post(f"/api/v1{RUNS}/{first}/take-over")
    assert late.status_code == 409 and later.run_id in late.json()["error"]["message"]
    with pytest.raises(Refused, match="not touched") as refused:
        world.another(Request(take_over=True, only_run=first))
    assert refused.value.code == "run_over" and world.interrupted.run_id == later.run_id


@pytest.mark.parametrize(
    ("world", "way", "said"),
    [
        (parked, "recover", "held by the tasks of dag/one now: it is not recovered"),
        (left, "take-over", "interrupted, so that any run continues it now: there is no owner to take it from"),
    ],
)
def test_a_run_in_another_state_than_was_shown_is_409(world: Callable[[], World], way: str, said: str) -> None:
    made, starter = world(), NotedStarter()
    answer = browser(made.refreshes, "program", starter).post(f"/api/v1{RUNS}/{made.interrupted.run_id}/{way}")
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (409, "run_changed") and said in error["message"]
    assert not starter.started


@pytest.mark.parametrize("steer", ["pause", "cancel"])
def test_a_run_that_was_paused_or_cancelled_meanwhile_is_not_recovered(steer: str) -> None:
    world = left()
    getattr(world.refreshes, steer)(NAME)
    answer = browser(world.refreshes, "program").post(f"/api/v1{RUNS}/{world.interrupted.run_id}/recover")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "run_changed")


@pytest.mark.parametrize("way", ["recover", "take-over"])
def test_runs_and_definitions_that_are_not_there_are_404_or_409(way: str) -> None:
    program = browser(left().refreshes, "program")
    assert program.post(f"/api/v1/definitions/none/runs/x/{way}").status_code == 404
    assert program.post(f"/api/v1{RUNS}/none/{way}").status_code == 409
    assert program.get(f"{RUNS}/none/{way}").status_code == 404


def test_what_is_started_resumes_this_run_and_starts_no_other_after_it() -> None:
    world = left()
    only = Request(workers=1, only_run=world.interrupted.run_id)
    assert world.another(only).outcome is Outcome.SUCCEEDED
    with pytest.raises(Refused, match="succeeded") as refused:
        world.another(only)
    assert refused.value.code == "run_over" and world.fresh()


def test_a_run_that_cannot_be_continued_is_abandoned_and_no_other_is_started() -> None:
    world = left()
    run_id = world.interrupted.run_id
    world.refreshes.register(definition(query="SELECT k, v FROM x", visibility="live"))
    with pytest.raises(Refused, match="abandoned, the definition was changed") as refused:
        world.another(Request(workers=1, only_run=run_id))
    assert refused.value.code == "run_over" and world.record.run is None
    assert world.refreshes.history(NAME)[0].outcome is Outcome.ABANDONED


def test_a_run_that_is_taken_over_from_its_tasks_is_finished_here() -> None:
    world = parked()
    run_id = world.interrupted.run_id
    result = world.another(Request(workers=1, take_over=True, only_run=run_id))
    assert (result.run_id, result.outcome) == (run_id, Outcome.SUCCEEDED)


def test_the_api_says_what_can_be_done_with_a_run() -> None:
    world = left()
    client = browser(world.refreshes)
    run_id = world.interrupted.run_id
    found = RunDetail.model_validate(client.get(f"/api/v1{RUNS}/{run_id}").json()).offers
    assert (found[0].act, found[0].command) == (Act.RECOVER, f"airflow-refresh recover {NAME}")
    status = client.get(f"/api/v1/definitions/{NAME}").json()["status"]
    assert [one["act"] for one in status["run"]["offers"]] == ["recover", "cancel", "abandon"]
    recovered = Refreshes(world.process()).recover(NAME)
    assert recovered[0].outcome is RecoveryOutcome.RESUMED
    assert client.get(f"/api/v1{RUNS}/{run_id}").json()["offers"] == []
