"""Refresh now, and cancel: forms that work without scripts, the same as JSON, and what comes too late."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from airflow_refresh_provider.core.definition.mode import Mode
from airflow_refresh_provider.core.run.health import Health
from airflow_refresh_provider.core.run.request import OnInterrupted, Request
from airflow_refresh_provider.core.run.results import ErrorReport
from airflow_refresh_provider.errors import Refused
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.runner.steps import one_task
from tests.unit.page.site import TOKEN, WITH_TOKEN, NotedStarter, browser
from tests.unit.page.test_pages import interrupted
from tests.unit.runner.phased import changed, started
from tests.unit.runner.shop import NAME, Shop
from tests.unit.runner.world import NAME as ORDERS
from tests.unit.runner.world import World

RUNS = f"/definitions/{ORDERS}/runs"


def cancel(world: World, run_id: str, name: str = "editor", **form: str) -> Any:
    path = f"{RUNS}/{run_id}/cancel"
    return browser(world.refreshes, name).post(path, data={"token": TOKEN, **form})


def test_the_page_of_a_running_definition_leads_to_a_form_that_cancels_its_run() -> None:
    world = changed()
    run_id = started(world).run_id
    editor = browser(world.refreshes)
    for page in (f"/definitions/{ORDERS}", f"{RUNS}/{run_id}"):
        text = editor.get(page).text
        assert f'href="{RUNS}/{run_id}/cancel"' in text and f"airflow-refresh cancel {ORDERS}" in text
    form = editor.get(f"{RUNS}/{run_id}/cancel").text
    assert f'action="{RUNS}/{run_id}/cancel"' in form and "--abandon" in form
    answer = cancel(world, run_id)
    assert (answer.status_code, answer.headers["location"]) == (303, f"{RUNS}/{run_id}")
    shown = editor.get(f"{RUNS}/{run_id}").text
    assert "cancelled by editor" in shown and "the next run resumes it" in shown
    assert "Abandon the run" in editor.get(f"/definitions/{ORDERS}").text
    found = editor.get(f"/api/v1/definitions/{ORDERS}").json()["status"]
    assert (found["health"], found["run"]["cancelled"]["by"]) == (Health.CANCELLED, "editor")
    assert "cancelled" in editor.get("/").text


def test_a_run_that_is_cancelled_for_good_is_left_to_its_owner_or_the_next_run() -> None:
    world = interrupted()
    run_id = world.interrupted.run_id
    before = list(world.lake.table(world.record.definition.target).versions)
    assert cancel(world, run_id, abandon="true").status_code == 303
    assert world.interrupted.cancelled is not None and world.interrupted.cancelled.abandon
    assert list(world.lake.table(world.record.definition.target).versions) == before
    assert "the next run starts a new one" in browser(world.refreshes).get(f"{RUNS}/{run_id}").text
    assert "Abandon the run" not in browser(world.refreshes).get(f"/definitions/{ORDERS}").text


def test_a_program_cancels_a_run_by_its_id_and_no_later_one() -> None:
    world = changed()
    first = started(world).run_id
    program = browser(world.refreshes, "program")
    path = f"/api/v1{RUNS}/{first}/cancel"
    found = program.post(path, json={})
    assert (found.status_code, found.json()["outcome"], found.json()["run_id"]) == (200, "cancelled", first)
    Refreshes(world.process()).abandon(ORDERS)
    later = one_task.start(world.process(), ORDERS, Request(origin="dag/three"))
    late = program.post(path, json={"abandon": True})
    assert (late.status_code, late.json()["error"]["code"]) == (409, "run_over")
    assert later.run_id in late.json()["error"]["message"]
    assert world.interrupted.cancelled is None


def test_the_form_of_a_run_that_has_ended_says_so_and_its_button_too() -> None:
    world = changed()
    run_id = str(world.run().run_id)
    assert "There is nothing to cancel" in browser(world.refreshes).get(f"{RUNS}/{run_id}/cancel").text
    late = cancel(world, run_id)
    assert late.status_code == 409 and "has ended" in late.text


def test_a_viewer_gets_neither_form() -> None:
    world = changed()
    run_id = started(world).run_id
    viewer = browser(world.refreshes, "viewer")
    assert "You may not change this definition" in viewer.get(f"{RUNS}/{run_id}/cancel").text
    assert "do-cancel" not in viewer.get(f"{RUNS}/{run_id}").text
    shop = browser(Shop().refreshes, "viewer")
    assert "You may not refresh this definition" in shop.get(f"/definitions/{NAME}/refresh").text
    assert "to-refresh" not in shop.get(f"/definitions/{NAME}").text


def test_a_refresh_is_started_with_the_options_of_the_form() -> None:
    starter = NotedStarter()
    editor = browser(Shop().refreshes, starter=starter)
    form = editor.get(f"/definitions/{NAME}/refresh").text
    for option in ("mode", "on_interrupted", "force", "strict", "until", "budget_seconds", "budget_bytes", "no_budget"):
        assert f'name="{option}"' in form
    for text in ("until", "budget_seconds", "budget_bytes"):
        assert f'<input id="{text}" name="{text}"' in form
    assert 'name="take_over"' not in form and 'name="workers"' not in form
    given = {"token": TOKEN, "mode": "full", "on_interrupted": "restart", "force": "true", "budget_seconds": "60"}
    answer = editor.post(f"/definitions/{NAME}/refresh", data=given)
    assert answer.status_code == 200
    assert "a noted run" in answer.text and "it is only noted" in answer.text
    wanted = Request(mode=Mode.FULL, on_interrupted=OnInterrupted.RESTART, force=True, budget_seconds=60)
    assert starter.started == [("editor", NAME, wanted)]


def test_the_form_as_it_comes_asks_for_nothing_but_the_defaults() -> None:
    starter = NotedStarter()
    given = {"token": TOKEN, "mode": "as_defined", "on_interrupted": "resume"}
    given |= {"until": "", "budget_seconds": "", "budget_bytes": ""}
    browser(Shop().refreshes, starter=starter).post(f"/definitions/{NAME}/refresh", data=given)
    assert starter.started == [("editor", NAME, Request())]


def test_a_program_starts_a_refresh() -> None:
    starter = NotedStarter()
    answer = browser(Shop().refreshes, "program", starter).post(
        f"/api/v1/definitions/{NAME}/refresh", json={"strict": True}
    )
    assert (answer.status_code, answer.json()["started"]) == (200, "a noted run")
    assert starter.started == [("program", NAME, Request(strict=True))]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"mode": "wrong"}, "bad_parameter"),
        ({"until": "25:00"}, "bad_parameter"),
        ({"take_over": True}, "unknown_parameter"),
        ([], "invalid_request"),
    ],
)
def test_wrong_options_are_422(body: object, code: str) -> None:
    starter = NotedStarter()
    answer = browser(Shop().refreshes, starter=starter).post(
        f"/api/v1/definitions/{NAME}/refresh", json=body, headers=WITH_TOKEN
    )
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, code)
    assert not starter.started


@pytest.mark.parametrize("why", ["paused", "suspended"])
def test_a_refresh_that_would_be_refused_is_not_started(why: str) -> None:
    world, starter = changed(), NotedStarter()
    if why == "paused":
        world.refreshes.pause(ORDERS)
    else:
        world.refreshes.suspend(ORDERS, "wrong source")
    editor = browser(world.refreshes, starter=starter)
    path = f"/definitions/{ORDERS}/refresh"
    shown = editor.get(path)
    assert shown.status_code == 409 and why in shown.text
    answer = editor.post(f"/api/v1{path}", json={}, headers=WITH_TOKEN)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, why)
    assert not starter.started


def test_a_cancelled_run_can_be_refreshed_now() -> None:
    world, starter = changed(), NotedStarter()
    cancel(world, started(world).run_id)
    assert browser(world.refreshes, starter=starter).get(f"/definitions/{ORDERS}/refresh").status_code == 200


def test_why_a_refresh_did_not_start_is_on_the_page() -> None:
    starter = NotedStarter()
    starter.error = Refused("not_triggered", "there is no DAG <b>", next="Run it.")
    editor = browser(Shop().refreshes, starter=starter)
    answer = editor.post(f"/definitions/{NAME}/refresh", data={"token": TOKEN})
    assert answer.status_code == 409 and "there is no DAG &lt;b&gt;" in answer.text
    starter.ended = ErrorReport(code="spark_locked", message="the lock is held", left="", next="")
    assert "spark_locked" in editor.get(f"/definitions/{NAME}").text


def test_who_may_not_trigger_starts_nothing() -> None:
    shop = Shop()
    shop.refreshes = Refreshes(replace(shop.refreshes.ports))
    shop.register(name="untouchable", target="/gold/untouchable")
    answer = browser(shop.refreshes).post("/definitions/untouchable/refresh", data={"token": TOKEN})
    assert answer.status_code == 403 and "permission to trigger" in answer.text
