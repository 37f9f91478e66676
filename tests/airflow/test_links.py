"""Links beside a task's log: to the run of its refresh, and to the definition."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

from tests.airflow.conftest import Airflow
from tests.airflow.shared import Shared
from tests.unit.runner.world import INPUT, row

BOTH = """
from airflow.sdk import DAG
from airflow_refresh_provider import Definition, RefreshOperator, refresh_group
from datetime import datetime
definition = Definition.model_validate({definition!r})
with DAG("linked", schedule=None, start_date=datetime(2024, 1, 1)):
    refresh_group(definition{more}) >> RefreshOperator(task_id="again", definition="orders"{more})
"""


def test_every_task_links_to_the_run_of_its_refresh_and_to_the_definition(
    airflow: Airflow, share: Callable[..., Shared]
) -> None:
    dag = airflow.dag(BOTH.format(definition=share().definition, more=""))
    seen = airflow.run(dag)
    links = _links(seen.run_id)
    assert {"orders.start", "orders.load", "orders.merge", "orders.finish", "again"} <= set(links)
    page = "/plugin/refreshes/refreshes/"
    run = f"{page}dags/linked/runs/{quote(seen.run_id, safe='')}?definition=orders"
    assert {found["_link_RunLink"] for found in links.values()} == {run}
    assert {found["_link_TargetLink"] for found in links.values()} == {f"{page}definitions/orders"}


def test_a_task_that_fails_has_the_links_too(airflow: Airflow, share: Callable[..., Shared]) -> None:
    shared = share()
    shared.world.lake.append(INPUT, [row(1, "again")])
    seen = airflow.run(airflow.dag(BOTH.format(definition=shared.definition, more="")))
    assert seen.tasks["orders.load"] == "failed"
    assert set(_links(seen.run_id)["orders.load"]) == {"_link_RunLink", "_link_TargetLink"}


def test_with_another_connection_links_lead_to_what_airflow_has(
    airflow: Airflow, share: Callable[..., Shared], monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = share()
    monkeypatch.setenv("AIRFLOW_CONN_OTHER", os.environ["AIRFLOW_CONN_REFRESH_DEFAULT"])
    dag = airflow.dag(BOTH.format(definition=shared.definition, more=", refresh_conn_id='other'"))
    links = _links(airflow.run(dag).run_id)
    results = {task: found["_link_RunLink"].partition("/tasks/")[2] for task, found in links.items()}
    assert results["orders.load"] == results["orders.merge"] == results["orders.finish"] == "orders.finish/xcom"
    assert results["again"] == "again/xcom"
    assert all(found["_link_TargetLink"].endswith("/assets?name_pattern=orders") for found in links.values())


def test_links_survive_serialisation(airflow: Airflow, share: Callable[..., Shared]) -> None:
    from airflow.serialization.serialized_objects import DagSerialization

    dag = airflow.dag(BOTH.format(definition=share().definition, more=""))
    again = DagSerialization.from_dict(DagSerialization.to_dict(dag))
    for task in again.tasks:
        assert sorted(task.extra_links) == ["Refresh run", "Target"]


def _links(run_id: str) -> dict[str, dict[str, Any]]:
    """What each task of a DAG run left for the UI to link to."""
    from airflow.models.xcom import XComModel
    from airflow.utils.session import create_session
    from sqlalchemy import select

    found: dict[str, dict[str, Any]] = {}
    with create_session() as session:
        query = select(XComModel).where(XComModel.run_id == run_id, XComModel.key.like("_link_%"))
        for xcom in session.scalars(query):
            found.setdefault(xcom.task_id, {})[xcom.key] = XComModel.deserialize_value(xcom)
    return found
