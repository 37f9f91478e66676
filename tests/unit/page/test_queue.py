"""Refresh now while a run is in progress: the request waits, is listed on the page, and can be removed."""

from __future__ import annotations

from typing import Any

from airflow_refresh_provider.core.definition.mode import Mode
from airflow_refresh_provider.core.run.request import Request
from tests.unit.page.site import TOKEN, WITH_TOKEN, NotedStarter, browser
from tests.unit.runner.phased import changed, finished, loaded, merged, started
from tests.unit.runner.world import NAME, World

PAGE = f"/definitions/{NAME}"


def held() -> World:
    world = changed()
    started(world)
    return world


def queue(world: World, name: str = "editor", starter: NotedStarter | None = None, **form: str) -> Any:
    return browser(world.refreshes, name, starter).post(f"{PAGE}/refresh", data={"token": TOKEN, **form})


def test_while_a_run_is_in_progress_the_form_offers_to_queue_the_request() -> None:
    world = changed()
    editor = browser(world.refreshes)
    assert "Queue it" not in editor.get(f"{PAGE}/refresh").text and "priority" not in editor.get(f"{PAGE}/refresh").text
    run_id = started(world).run_id
    form = editor.get(f"{PAGE}/refresh").text
    assert run_id in form and "Queue it" in form and 'name="priority"' in form and 'value="50"' in form
    starter = NotedStarter()
    answer = queue(world, starter=starter, mode="full", priority="70")
    [one] = world.record.queue
    assert (one.by, one.priority, one.options.mode) == ("editor", 70, Mode.FULL)
    assert answer.status_code == 200 and one.id in answer.text and "number 1 of 1" in answer.text
    assert "a noted process takes it then" in answer.text
    assert (starter.started, starter.followed) == ([], [NAME])


def test_an_equal_request_is_merged_and_the_page_says_with_whose() -> None:
    world = held()
    queue(world)
    [one] = world.record.queue
    again = queue(world, starter=NotedStarter())
    assert f"the equal request {one.id} of editor" in again.text and len(world.record.queue) == 1


def test_where_what_is_started_waits_by_itself_nothing_is_queued() -> None:
    world, starter = held(), NotedStarter()
    starter.patient = True
    assert "Queue it" not in browser(world.refreshes, starter=starter).get(f"{PAGE}/refresh").text
    queue(world, starter=starter)
    assert starter.started == [("editor", NAME, Request())] and not world.record.queue


def test_a_run_that_ends_meanwhile_leaves_nothing_to_wait_for() -> None:
    world, starter = held(), NotedStarter()
    for unit in loaded(world):
        merged(world, unit)
    finished(world)
    queue(world, starter=starter, priority="70")
    assert starter.started == [("editor", NAME, Request(priority=70))] and not world.record.queue


def test_what_waits_is_listed_with_a_button_and_counted_in_the_overview() -> None:
    world = held()
    queue(world, mode="full", force="true")
    [one] = world.record.queue
    editor = browser(world.refreshes)
    page = editor.get(PAGE).text
    assert f"do-remove-{one.id}" in page and "--mode full --force" in page and "editor" in page
    assert f"airflow-refresh unqueue {NAME} {one.id}" in page
    assert "1 waiting" in page and "1 waiting" in editor.get("/").text
    answer = editor.post(f"{PAGE}/queue/{one.id}/remove", data={"token": TOKEN})
    assert (answer.status_code, answer.headers["location"]) == (303, PAGE)
    assert not world.record.queue and "waiting" not in editor.get(PAGE).text


def test_a_viewer_sees_what_waits_and_can_neither_add_nor_remove() -> None:
    world = held()
    queue(world)
    [one] = world.record.queue
    viewer = browser(world.refreshes, "viewer")
    page = viewer.get(PAGE).text
    assert one.id in page and "do-remove" not in page
    assert viewer.post(f"{PAGE}/queue/{one.id}/remove", data={"token": TOKEN}).status_code == 403
    assert queue(world, "viewer").status_code == 403
    assert browser(world.refreshes).post(f"{PAGE}/queue/{one.id}/remove", data={"token": "wrong"}).status_code == 403
    assert [waiting.id for waiting in world.record.queue] == [one.id]


def test_a_program_queues_lists_and_removes() -> None:
    world = held()
    program = browser(world.refreshes, "program")
    found = program.post(f"/api/v1{PAGE}/refresh", json={"priority": 90, "strict": True})
    assert found.status_code == 200
    request_id = found.json()["request_id"]
    listed = program.get(f"/api/v1{PAGE}/queue").json()
    assert [(one["id"], one["name"], one["place"], one["priority"]) for one in listed] == [(request_id, NAME, 1, 90)]
    assert program.get("/api/v1/queue").json() == listed
    assert program.get("/api/v1/definitions/nowhere/queue").status_code == 404
    removed = program.post(f"/api/v1{PAGE}/queue/{request_id}/remove")
    assert (removed.status_code, removed.json()["waiting"]) == (200, 0)
    late = program.post(f"/api/v1{PAGE}/queue/{request_id}/remove")
    assert (late.status_code, late.json()["error"]["code"]) == (409, "not_waiting")


def test_more_than_may_wait_is_409_and_a_wrong_priority_422() -> None:
    world = held()
    editor = browser(world.refreshes)
    for seconds in range(1, 17):
        assert queue(world, budget_seconds=str(seconds)).status_code == 200
    full = editor.post(f"/api/v1{PAGE}/refresh", json={}, headers=WITH_TOKEN)
    assert (full.status_code, full.json()["error"]["code"]) == (409, "queue_full")
    wrong = editor.post(f"/api/v1{PAGE}/refresh", json={"priority": 0}, headers=WITH_TOKEN)
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (422, "bad_parameter")


def test_the_run_that_served_a_request_names_it() -> None:
    world = held()
    queue(world, mode="full")
    [one] = world.record.queue
    for unit in loaded(world):
        merged(world, unit)
    finished(world)
    world.become({"k": 1, "v": "c"})
    [step] = world.refreshes.run_waiting(NAME).refreshes
    assert step.result is not None
    editor = browser(world.refreshes)
    assert one.id in editor.get(f"{PAGE}/runs/{step.result.run_id}").text
    assert editor.get(f"/api/v1{PAGE}/runs/{step.result.run_id}").json()["requests"] == [one.id]
