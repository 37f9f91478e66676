"""The tabs of a DAG and of a DAG run: they lead to the page of the definition and of the run, or say what there is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from tests.airflow.conftest import Airflow
from tests.airflow.shared import Shared
from tests.airflow.test_dags_in_memory import PHASED, SINGLE
from tests.airflow.test_page import PAGE, server, session, site
from tests.unit.runner.faults import at, disconnected
from tests.unit.runner.world import NAME

__all__ = ["server", "site"]
OTHER = """
from airflow.sdk import DAG
from airflow.providers.standard.operators.empty import EmptyOperator
with DAG("other"):
    EmptyOperator(task_id="nothing")
"""
TWO = """
from datetime import datetime
from airflow.sdk import DAG
from airflow_refresh_provider import RefreshOperator
with DAG("two", schedule=None, start_date=datetime(2024, 1, 1)):
    RefreshOperator(task_id="a", definition={definition!r})
    RefreshOperator(task_id="b", definition="other", refresh_conn_id="elsewhere")
"""
MAPPED = """
from datetime import datetime
from airflow.sdk import DAG
from airflow_refresh_provider import RefreshOperator
with DAG("mapped", schedule=None, start_date=datetime(2024, 1, 1)):
    RefreshOperator.partial(task_id="each").expand(definition=[{definition!r}])
"""


@pytest.fixture
def shared(share: Callable[..., Shared], connection: Callable[..., None], tmp_path: Path) -> Shared:
    """Refreshes in memory, in the place of a control root that no other test has."""
    shared = share()
    connection(control=str(tmp_path))
    return shared


def where(site: TestClient, dag: str, run_id: str | None = None, definition: str | None = None) -> str:
    """Where the tab of a DAG, or of a DAG run, leads; else what it shows."""
    path = f"{PAGE}dags/{dag}" + (f"/runs/{quote(run_id, safe='')}" if run_id else "")
    answer = session(site, "VIEWER").get(path, params={"definition": definition} if definition else None)
    assert answer.status_code in (200, 303), answer.text
    return str(answer.headers.get("location") or answer.text)


def test_the_tabs_of_a_dag_lead_to_its_definition_and_to_its_run(
    airflow: Airflow, site: TestClient, shared: Shared
) -> None:
    dag = airflow.dag(PHASED.format(definition=shared.definition))
    seen = airflow.run(dag)
    assert where(site, dag.dag_id) == f"{PAGE}definitions/{NAME}"
    run = seen.returned["finish"]["run_id"]
    assert where(site, dag.dag_id, seen.run_id) == f"{PAGE}definitions/{NAME}/runs/{run}"


def test_the_run_of_a_task_that_failed_is_found_by_its_dag_run(
    airflow: Airflow, site: TestClient, shared: Shared
) -> None:
    dag = airflow.dag(SINGLE.format(definition=shared.definition, name="failing"))
    with at(shared.world.lake, "begin /gold", disconnected):
        seen = airflow.run(dag)
    assert seen.tasks["refresh"] == "failed" and shared.world.record.run
    run = f"{PAGE}definitions/{NAME}/runs/{shared.world.record.run.run_id}"
    assert where(site, dag.dag_id, seen.run_id) == run
    assert session(site, "VIEWER").get(run).status_code == 200


def test_a_dag_run_that_skipped_says_why(airflow: Airflow, site: TestClient, shared: Shared) -> None:
    shared.world.run()
    dag = airflow.dag(PHASED.format(definition=shared.definition))
    text = where(site, dag.dag_id, airflow.run(dag).run_id)
    assert "this DAG run has started no run of it" in text and "skipped: no input has changed" in text
    assert f'href="{PAGE}definitions/{NAME}"' in text


def test_a_dag_of_several_tables_shows_them_and_those_of_other_control_tables(
    airflow: Airflow, site: TestClient, shared: Shared
) -> None:
    dag = airflow.dag(TWO.format(definition=shared.definition))
    seen = airflow.run(dag)
    assert f'<a href="{PAGE}definitions/{NAME}">{NAME}</a>' in where(site, "two")
    assert "its control tables are those of the connection elsewhere" in where(site, "two")
    run = f"{PAGE}definitions/{NAME}/runs/{seen.returned['a']['run_id']}"
    assert f'<a href="{run}">its run</a>' in where(site, "two", seen.run_id)
    assert where(site, "two", seen.run_id, NAME) == run


def test_definitions_that_tasks_get_while_they_run_are_known_by_their_dag_run(
    airflow: Airflow, site: TestClient, shared: Shared
) -> None:
    dag = airflow.dag(MAPPED.format(definition=shared.definition))
    seen = airflow.run(dag)
    assert "get their definitions while they run" in where(site, "mapped")
    run = seen.returned["each[0]"]["run_id"]
    assert where(site, "mapped", seen.run_id) == f"{PAGE}definitions/{NAME}/runs/{run}"


@pytest.mark.usefixtures("shared")
def test_any_other_dag_refreshes_no_table(airflow: Airflow, site: TestClient) -> None:
    seen = airflow.run(airflow.dag(OTHER))
    for text in (where(site, "other"), where(site, "other", seen.run_id), where(site, "unknown")):
        assert "This DAG refreshes no table." in text


@pytest.mark.usefixtures("shared")
def test_the_tabs_are_for_those_who_are_signed_in(site: TestClient) -> None:
    for path in ("dags/other", "dags/other/runs/x"):
        assert site.get(PAGE + path).status_code == 401
        assert site.get(PAGE + path, headers={"Authorization": "Bearer x"}).status_code == 403
