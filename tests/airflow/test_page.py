"""The page as a plugin of Airflow: its authentication, its permissions, its navigation."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from airflow_refresh_provider.hooks.addresses import PREFIX
from airflow_refresh_provider.page.guard import TOKEN_HEADER
from tests.airflow.conftest import Airflow
from tests.airflow.shared import Shared
from tests.unit.runner.phased import started
from tests.unit.runner.world import NAME, definition, row

PAGE = f"{PREFIX}/"
READS = (
    *("", f"definitions/{NAME}", f"definitions/{NAME}/refresh", f"definitions/{NAME}/runs/x", "static/page.css"),
    *("api/v1/overview", "api/v1/definitions", f"api/v1/definitions/{NAME}", "api/v1/openapi.json"),
)
CHANGES = tuple(
    f"{api}definitions/{NAME}/{verb}"
    for api in ("", "api/v1/")
    for verb in ("pause", "resume", "suspend", "refresh", "runs/x/cancel", "runs/x/recover", "runs/x/take-over")
)
REFRESHED = """
from airflow_refresh_provider import Definition, refresh_dag
refresh_dag(Definition.model_validate({definition!r}))
"""


@pytest.fixture(scope="module")
def server(_metadata: None) -> Iterator[FastAPI]:
    """Airflow's API server, with the plugins that it finds."""
    from airflow.api_fastapi import app

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AIRFLOW__API_AUTH__JWT_SECRET", "of this test" * 8)
        app.purge_cached_app()
        yield app.create_app(apps="core")
        app.purge_cached_app()


@pytest.fixture
def shared(share: Callable[..., Shared], connection: Callable[..., None], tmp_path: Path) -> Shared:
    """Refreshes in memory, in the place of a control root that no other test has."""
    shared = share()
    connection(control=str(tmp_path))
    return shared


@pytest.fixture
def site(server: FastAPI) -> TestClient:
    """A browser in which no one has signed in."""
    return TestClient(server, follow_redirects=False)


def token(role: str) -> str:
    """What a user of this role gets when it signs in."""
    from airflow.api_fastapi.app import get_auth_manager
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

    return str(get_auth_manager().generate_jwt(SimpleAuthManagerUser(username=role.lower(), role=role)))


def session(site: TestClient, role: str) -> TestClient:
    """A browser in which a user has signed in."""
    site.cookies.set("_token", token(role))
    return site


@pytest.fixture
def unconnected(connection: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the environment nor a connection in it says where the control tables are."""
    connection()
    monkeypatch.delenv("AIRFLOW_CONN_REFRESH_DEFAULT", raising=False)


def test_airflow_shows_the_page_in_its_navigation(site: TestClient) -> None:
    plugins = site.get("/api/v2/plugins", headers={"Authorization": f"Bearer {token('ADMIN')}"}).json()["plugins"]
    [ours] = [plugin for plugin in plugins if plugin["name"] == "refreshes"]
    views = [(view["href"], view["destination"], view["url_route"]) for view in ours["external_views"]]
    assert views == [
        (PAGE, "nav", "refreshes"),
        (f"{PAGE}dags/{{DAG_ID}}", "dag", "refresh"),
        (f"{PAGE}dags/{{DAG_ID}}/runs/{{RUN_ID}}", "dag_run", "refresh-run"),
    ]
    assert [(one["name"], one["url_prefix"]) for one in ours["fastapi_apps"]] == [("Refreshes", "/refreshes")]


@pytest.mark.usefixtures("shared")
def test_anonymous_requests_are_401_and_false_tokens_403(site: TestClient) -> None:
    for path in READS:
        assert site.get(PAGE + path).status_code == 401, path
        assert site.get(PAGE + path, headers={"Authorization": "Bearer x"}).status_code == 403, path
    for path in CHANGES:
        assert site.post(PAGE + path).status_code == 401, path


def test_a_viewer_reads_and_changes_nothing(site: TestClient, shared: Shared) -> None:
    viewer = session(site, "VIEWER")
    for path in READS:
        assert viewer.get(PAGE + path).status_code == (404 if path.endswith("/x") else 200), path
    for path in CHANGES:
        assert viewer.post(PAGE + path).status_code == 403, path
    assert "You may not change this definition" in viewer.get(f"{PAGE}definitions/{NAME}").text
    assert not shared.world.record.paused and not shared.world.record.suspended


def test_an_editor_changes_with_the_token_of_the_page_only(site: TestClient, shared: Shared) -> None:
    editor = session(site, "USER")
    page = editor.get(f"{PAGE}definitions/{NAME}").text
    change = f"{PAGE}api/v1/definitions/{NAME}/pause"
    assert 'action="/refreshes/definitions/orders/pause"' in page and 'href="/refreshes/static/page.css' in page
    assert editor.post(change).status_code == 403
    assert not shared.world.record.paused
    given = page.partition('name="token" value="')[2].partition('"')[0]
    assert editor.post(change, headers={TOKEN_HEADER: given}).status_code == 200
    assert shared.world.record.paused
    resumed = editor.post(f"{PAGE}definitions/{NAME}/resume", data={"token": given})
    assert (resumed.status_code, resumed.headers["location"]) == (303, f"{PAGE}definitions/{NAME}")
    assert not shared.world.record.paused
    session(site, "OP")
    assert site.post(change, headers={TOKEN_HEADER: given}).status_code == 403


def test_a_program_with_a_bearer_token_needs_no_other(site: TestClient, shared: Shared) -> None:
    bearer = {"Authorization": f"Bearer {token('USER')}"}
    assert site.post(f"{PAGE}api/v1/definitions/{NAME}/pause", headers=bearer).status_code == 200
    assert shared.world.record.paused


@pytest.mark.usefixtures("unconnected")
def test_a_connection_that_says_nothing_is_said_on_the_page(site: TestClient) -> None:
    answer = session(site, "VIEWER").get(PAGE)
    assert (answer.status_code, "no_control" in answer.text) == (503, True)
    assert "refresh_default" in answer.text


@pytest.mark.usefixtures("unconnected")
def test_the_control_root_is_that_of_the_connection_in_the_database(site: TestClient, tmp_path: Path) -> None:
    from airflow.models import Connection
    from airflow.utils.session import create_session

    root = str(tmp_path / "control")
    extra = json.dumps({"control": root})
    with create_session() as session_:
        session_.add(Connection(conn_id="refresh_default", conn_type="airflow_refresh", extra=extra))
    try:
        assert f"there are no control tables in {root}" in session(site, "VIEWER").get(PAGE).text
    finally:
        with create_session() as session_:
            session_.query(Connection).filter(Connection.conn_id == "refresh_default").delete()


@pytest.mark.usefixtures("shared")
def test_a_triggerer_that_has_died_is_on_the_page(site: TestClient) -> None:
    from airflow.jobs.job import Job
    from airflow.utils.session import create_session

    last = datetime(2024, 1, 1, 4, 23, tzinfo=UTC)
    with create_session() as session_:
        session_.add(Job(job_type="TriggererJob", state="running", latest_heartbeat=last))
    try:
        text = session(site, "VIEWER").get(PAGE).text
    finally:
        with create_session() as session_:
            session_.query(Job).delete()
    assert "the triggerer has given no sign of life since 2024-01-01 04:23:00 UTC" in text
    assert "dag_processor_down" not in text


@pytest.fixture
def registered(airflow: Airflow, shared: Shared) -> Iterator[str]:
    """The DAG of the definition, which Airflow knows since it has run once; DAG runs that wait go with the test."""
    from airflow.models import DagRun
    from airflow.utils.session import create_session

    dag = airflow.dag(REFRESHED.format(definition=shared.definition))
    airflow.run(dag)
    yield dag.dag_id
    with create_session() as session_:
        session_.query(DagRun).filter(DagRun.dag_id == dag.dag_id, DagRun.state == "queued").delete()


def queued(dag_id: str) -> list[tuple[str | None, object]]:
    """Who has triggered the DAG runs that wait, and with which configuration."""
    from airflow.models import DagRun
    from airflow.utils.session import create_session

    with create_session() as session_:
        found = session_.query(DagRun).filter(DagRun.dag_id == dag_id, DagRun.state == "queued")
        return [(run.triggering_user_name, run.conf) for run in found]


def test_refresh_now_triggers_a_dag_run_in_the_name_of_the_user(site: TestClient, registered: str) -> None:
    editor, page = session(site, "USER"), f"{PAGE}definitions/{NAME}/refresh"
    given = editor.get(page).text.partition('name="token" value="')[2].partition('"')[0]
    assert editor.post(page, data={"token": "x", "mode": "full"}).status_code == 403
    assert queued(registered) == []
    answer = editor.post(page, data={"token": given, "mode": "full", "on_interrupted": "resume", "force": "true"})
    assert answer.status_code == 200
    assert f"of {registered}" in answer.text and "its DAG is paused" in answer.text
    assert queued(registered) == [("user", {"mode": "full", "force": True})]


def test_a_run_is_taken_over_by_a_dag_run_that_means_this_run_alone(
    site: TestClient, shared: Shared, registered: str
) -> None:
    shared.world.become(row(1, "b"))
    run_id = started(shared.world).run_id
    path = f"{PAGE}api/v1/definitions/{NAME}/runs/{run_id}/take-over"
    for role, expected in (("VIEWER", 403), ("USER", 200)):
        answer = site.post(path, headers={"Authorization": f"Bearer {token(role)}"})
        assert answer.status_code == expected
    assert queued(registered) == [("user", {"take_over": True, "only_run": run_id})]


@pytest.fixture
def occupied(registered: str) -> Iterator[str]:
    """The DAG of the definition, unpaused, while its one DAG run is running."""
    from airflow.models import DagModel, DagRun
    from airflow.utils.session import create_session

    def mark(state: str, *, paused: bool) -> str:
        with create_session() as session_:
            session_.query(DagModel).filter(DagModel.dag_id == registered).update({"is_paused": paused})
            run = session_.query(DagRun).filter(DagRun.dag_id == registered, DagRun.state != "queued").first()
            assert run is not None
            run.state = state
            return str(run.run_id)

    yield mark("running", paused=False)
    mark("success", paused=True)


def test_a_dag_run_that_waits_for_another_one_names_it(site: TestClient, occupied: str) -> None:
    bearer = {"Authorization": f"Bearer {token('USER')}"}
    answer = site.post(f"{PAGE}api/v1/definitions/{NAME}/refresh", json={}, headers=bearer)
    assert f"the DAG run {occupied} is running" in answer.json()["waits"]


def test_a_definition_without_its_dag_says_so(site: TestClient, shared: Shared) -> None:
    shared.world.refreshes.register(definition(name="alone", target="/gold/alone"))
    bearer = {"Authorization": f"Bearer {token('USER')}"}
    answer = site.post(f"{PAGE}api/v1/definitions/alone/refresh", json={}, headers=bearer)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "not_triggered")
    assert "there is no DAG refresh.alone" in answer.json()["error"]["message"]


def test_a_run_is_cancelled_in_the_name_of_the_user(site: TestClient, shared: Shared) -> None:
    shared.world.run()
    shared.world.become(row(1, "b"))
    run_id = started(shared.world).run_id
    bearer = {"Authorization": f"Bearer {token('USER')}"}
    answer = site.post(f"{PAGE}api/v1/definitions/{NAME}/runs/{run_id}/cancel", json={}, headers=bearer)
    assert (answer.status_code, answer.json()["outcome"]) == (200, "cancelled")
    assert shared.world.interrupted.cancelled is not None
    assert shared.world.interrupted.cancelled.by == "user"
