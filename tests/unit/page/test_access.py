"""Who may see and change what, and which answer every route has instead."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest

from airflow_refresh_provider.core.run.lifecycle import Event
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.core.run.reports import DefinitionStatus
from airflow_refresh_provider.errors import Refused, StaleSnapshot
from airflow_refresh_provider.page.app import create_app
from airflow_refresh_provider.page.shield import MAX_BODY_BYTES
from airflow_refresh_provider.page.stored_views import StoredViews
from airflow_refresh_provider.ports.control import Snapshot
from airflow_refresh_provider.ports.store_as_written import StoreAsWritten
from airflow_refresh_provider.runner.refreshes import Refreshes
from tests.unit.page.site import TOKEN, WITH_TOKEN, NamedGate, NotedStarter, at_once, browser, views_of
from tests.unit.runner.shop import NAME, Shop

READS = (
    "/",
    "/costs",
    f"/definitions/{NAME}",
    f"/definitions/{NAME}/refresh",
    f"/definitions/{NAME}/runs/x",
    f"/definitions/{NAME}/runs/x/cancel",
    f"/definitions/{NAME}/runs/x/recover",
    f"/definitions/{NAME}/runs/x/take-over",
    "/static/page.css",
    "/static/htmx.min.js",
    "/static/none",
    "/api/v1/overview",
    "/api/v1/costs",
    "/api/v1/definitions",
    f"/api/v1/definitions/{NAME}",
    f"/api/v1/definitions/{NAME}/runs/x",
    "/api/v1/queue",
    f"/api/v1/definitions/{NAME}/queue",
    "/api/v1/openapi.json",
)
CHANGES = tuple(
    f"{prefix}/definitions/{NAME}/{verb}"
    for prefix in ("", "/api/v1")
    for verb in (
        "pause",
        "resume",
        "suspend",
        "throttle",
        "refresh",
        "runs/x/cancel",
        "runs/x/recover",
        "runs/x/take-over",
        "queue/x/remove",
    )
)


def test_the_lists_above_have_every_route() -> None:
    app = create_app(lambda: views_of(Shop().refreshes), NamedGate(), NotedStarter())
    known = {
        (method, route.path)
        for included in app.routes
        for route in getattr(included, "routes", None) or [included]
        if hasattr(route, "methods")
        for method in route.methods or ()
    }
    patterns = {path.replace("{name}", NAME, 1).replace("{run_id}", "x") for method, path in known if method == "GET"}
    assert {path.replace("/static/" + NAME, "/static/none") for path in patterns} <= set(READS)
    posted = {path.replace("{name}", NAME) for method, path in known if method == "POST"}
    assert {path.replace("{run_id}", "x").replace("{request_id}", "x") for path in posted} == set(CHANGES)
    assert {method for method, _ in known} <= {"GET", "POST", "HEAD"}


@pytest.mark.parametrize("path", READS)
def test_nothing_is_read_without_signing_in_or_without_permission(path: str) -> None:
    refreshes = Shop().refreshes
    assert browser(refreshes, None).get(path).status_code == 401
    assert browser(refreshes, "guest").get(path).status_code == 403
    assert browser(refreshes, "viewer").get(path).status_code in (200, 404)


@pytest.mark.parametrize("path", CHANGES)
def test_nothing_is_changed_without_signing_in_permission_and_token(path: str) -> None:
    refreshes = Shop().refreshes
    before = refreshes.ports.store.records()
    form = {} if path.startswith("/api") else {"token": TOKEN}
    for name, expected in ((None, 401), ("guest", 403), ("viewer", 403)):
        assert browser(refreshes, name).post(path, data=form, headers=WITH_TOKEN).status_code == expected
    editor = browser(refreshes)
    for headers in ({}, {"X-Refresh-Token": "another"}, {**WITH_TOKEN, "Sec-Fetch-Site": "cross-site"}):
        data = {"token": TOKEN if "Sec-Fetch-Site" in headers else "another"} if form else {}
        assert editor.post(path, data=data, headers=headers).status_code == 403
    assert refreshes.ports.store.records() == before


def test_an_editor_pauses_resumes_and_suspends() -> None:
    shop = Shop()
    editor = browser(shop.refreshes)

    def change(verb: str, **body: str) -> None:
        answer = editor.post(f"/api/v1/definitions/{NAME}/{verb}", json=body or None, headers=WITH_TOKEN)
        assert answer.status_code == 200, answer.text

    change("pause")
    assert shop.refreshes.stored(NAME).paused
    change("resume")
    assert not shop.refreshes.stored(NAME).paused
    change("suspend", why="the source is wrong")
    assert shop.refreshes.stored(NAME).suspended == "the source is wrong"


def test_a_form_changes_and_shows_the_definition_again() -> None:
    shop = Shop()
    editor = browser(shop.refreshes)
    answer = editor.post(f"/definitions/{NAME}/pause", data={"token": TOKEN})
    assert (answer.status_code, answer.headers["location"]) == (303, f"/definitions/{NAME}")
    part = editor.post(f"/definitions/{NAME}/resume", data={"token": TOKEN}, headers={"HX-Request": "true"})
    assert part.status_code == 200 and "airflow-refresh pause" in part.text
    editor.post(f"/definitions/{NAME}/suspend", data={"token": TOKEN, "why": "<b>"})
    assert "suspended" in editor.get(f"/definitions/{NAME}").text
    assert "&lt;b&gt;" in editor.get(f"/definitions/{NAME}").text


def test_a_form_throttles_takes_the_limit_off_and_leaves_it_to_the_definition() -> None:
    shop = Shop(throttle=9)
    editor = browser(shop.refreshes)
    for typed, expected, status in (
        ("70000", 70000, 303),
        ("0", None, 303),
        ("", 9, 303),
        ("-1", 9, 422),
        ("x", 9, 422),
    ):
        answer = editor.post(f"/definitions/{NAME}/throttle", data={"token": TOKEN, "rows_per_second": typed})
        assert (answer.status_code, shop.refreshes.stored(NAME).throttle) == (status, expected)
    shown = editor.get(f"/definitions/{NAME}").text
    assert "9 rows/s" in shown and f"airflow-refresh throttle {NAME} ROWS_PER_SECOND" in shown
    assert "do-throttle" not in browser(shop.refreshes, "viewer").get(f"/definitions/{NAME}").text


@pytest.mark.parametrize("given", [70000, 0, None])
def test_the_api_throttles(given: int | None) -> None:
    shop = Shop()
    path = f"/api/v1/definitions/{NAME}/throttle"
    answer = browser(shop.refreshes).post(path, json={"rows_per_second": given}, headers=WITH_TOKEN)
    assert (answer.status_code, answer.json()["throttle"]) == (200, given or None)


@pytest.mark.parametrize("given", [-1, 1.5, "7", True, 10**13])
def test_a_rate_that_is_none_is_422(given: object) -> None:
    path = f"/api/v1/definitions/{NAME}/throttle"
    answer = browser(Shop().refreshes).post(path, json={"rows_per_second": given}, headers=WITH_TOKEN)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid_request")


def test_a_program_that_proves_itself_with_each_request_needs_no_token() -> None:
    shop = Shop()
    assert browser(shop.refreshes, "program").post(f"/api/v1/definitions/{NAME}/pause").status_code == 200


def test_a_viewer_is_offered_no_button() -> None:
    shop = Shop()
    assert "You may not change this definition" in browser(shop.refreshes, "viewer").get(f"/definitions/{NAME}").text
    assert TOKEN in browser(shop.refreshes).get(f"/definitions/{NAME}").text


@pytest.mark.parametrize("path", ["/api/v1/definitions/absent", f"/api/v1/definitions/{NAME}/runs/absent", "/absent"])
def test_what_is_not_there_is_404(path: str) -> None:
    assert browser(Shop().refreshes).get(path).status_code == 404
    assert browser(Shop().refreshes).get(path.removeprefix("/api/v1")).status_code == 404


def test_changing_what_is_not_there_is_404_too() -> None:
    assert browser(Shop().refreshes).post("/api/v1/definitions/absent/pause", headers=WITH_TOKEN).status_code == 404


class Dropping(StoredViews):
    """Of definitions that are being dropped."""

    def pause(self, name: str) -> DefinitionStatus:
        raise Refused("resetting", f"{name} is being dropped", next="Wait for it.")


def test_a_definition_that_is_being_dropped_is_409() -> None:
    client = browser(Dropping(Shop().refreshes, start=at_once))
    answer = client.post(f"/api/v1/definitions/{NAME}/pause", headers=WITH_TOKEN)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "resetting")
    shown = client.post(f"/definitions/{NAME}/pause", data={"token": TOKEN})
    assert shown.status_code == 409 and "is being dropped" in shown.text


class Contended(StoreAsWritten):
    """A store in which another process always writes first."""

    def commit(self, snapshot: Snapshot, record: Record, event: Event, at: datetime) -> Snapshot:
        raise StaleSnapshot


def test_a_change_that_loses_every_race_is_409() -> None:
    ports = Shop().refreshes.ports
    refreshes = Refreshes(replace(ports, store=Contended(ports.store, {})))
    answer = browser(refreshes).post(f"/api/v1/definitions/{NAME}/pause", headers=WITH_TOKEN)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "control_contended")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("suspend", {"why": ""}),
        ("suspend", {"why": "x" * 501}),
        ("suspend", {"why": 7}),
        ("suspend", {"why": "x", "more": 1}),
        ("suspend", None),
        ("suspend", ["x"]),
    ],
)
def test_a_body_that_is_none_is_422(path: str, body: object) -> None:
    shop = Shop()
    answer = browser(shop.refreshes).post(f"/api/v1/definitions/{NAME}/{path}", json=body, headers=WITH_TOKEN)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid_request")
    assert not shop.refreshes.stored(NAME).suspended


def test_a_body_that_is_too_large_is_413() -> None:
    editor = browser(Shop().refreshes)
    large = b"x" * (MAX_BODY_BYTES + 1)
    path = f"/api/v1/definitions/{NAME}/suspend"
    assert editor.post(path, content=large, headers=WITH_TOKEN).status_code == 413
    assert editor.post(path, content=(large for _ in range(1)), headers=WITH_TOKEN).status_code == 413
    assert editor.get("/", params={"search": "x"}).status_code == 200
