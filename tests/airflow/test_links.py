"""Links beside a task's log: where the result of its refresh is, and the asset of its target."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.airflow.conftest import Airflow
from tests.airflow.shared import Shared

BOTH = """
from airflow.sdk import DAG
from airflow_refresh_provider import Definition, RefreshOperator, refresh_group
from datetime import datetime
definition = Definition.model_validate({definition!r})
with DAG("linked", schedule=None, start_date=datetime(2024, 1, 1)):
    refresh_group(definition) >> RefreshOperator(task_id="again", definition="orders")
"""


def test_every_task_links_to_the_result_of_its_refresh_and_to_the_target(
    airflow: Airflow, share: Callable[..., Shared]
) -> None:
    shared = share()
    dag = airflow.dag(BOTH.format(definition=shared.definition))
    seen = airflow.run(dag)
    links = _links(seen.run_id)
    results = {task: found["_link_RunLink"].partition("/tasks/")[2] for task, found in links.items()}
    assert {"orders.start", "orders.load", "orders.merge", "orders.finish", "again"} <= set(results)
    assert results["orders.load"] == results["orders.merge"] == results["orders.finish"] == "orders.finish/xcom"
    assert results["again"] == "again/xcom"
    assert all(found["_link_TargetLink"].endswith("/assets?name_pattern=orders") for found in links.values())
    assert "/dags/linked/runs/manual__" in links["again"]["_link_RunLink"]


def test_links_survive_serialisation(airflow: Airflow, share: Callable[..., Shared]) -> None:
    from airflow.serialization.serialized_objects import DagSerialization

    dag = airflow.dag(BOTH.format(definition=share().definition))
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
