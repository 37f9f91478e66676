"""One broken file in a folder of definitions: it is seen, and the DAGs of the others go on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.airflow.conftest import DAGS, Airflow

SOUND = "name: sound\ntarget: /lake/t\nkeys: [k]\ninputs: {x: {path: /lake/x}}\nquery: SELECT k FROM x\n"
BROKEN = SOUND.replace("sound", "orders").replace("SELECT", "SELEC")
REPORTED = "orders.yaml: query, line 1, column 1"
DAGS_OF = """
from airflow_refresh_provider import load_definitions, refresh_dag
for definition in load_definitions({folder!r}):
    refresh_dag(definition, schedule="@hourly", tags=["mine"], default_args={{"retries": 2}})
"""
TASKS_OF = """
from datetime import datetime
from airflow.sdk import DAG
from airflow_refresh_provider import RefreshOperator, load_definitions
with DAG("tasks", schedule=None, start_date=datetime(2024, 1, 1)):
    for definition in load_definitions({folder!r}):
        RefreshOperator(task_id=definition.name, definition=definition)
"""


@pytest.fixture
def folder(tmp_path: Path, connection: Callable[..., None]) -> Path:
    """Definitions of which one is broken."""
    connection(control=str(tmp_path / "control"))
    made = tmp_path / "refreshes"
    made.mkdir()
    (made / "sound.yaml").write_text(SOUND)
    (made / "orders.yaml").write_text(BROKEN)
    return made


def parsed(body: str) -> Any:
    from airflow.dag_processing.dagbag import DagBag

    file = DAGS / "broken_definitions.py"
    file.write_text(body)
    return DagBag(file, bundle_name="dags-folder")


@pytest.mark.usefixtures("airflow")
def test_the_others_stay_scheduled(folder: Path) -> None:
    from airflow.dag_processing.dagbag import sync_bag_to_db
    from airflow.models import DagModel
    from airflow.models.dagbundle import DagBundleModel
    from airflow.utils.session import create_session

    with create_session() as session:
        session.merge(DagBundleModel(name="dags-folder"))
        session.commit()
        bag = parsed(DAGS_OF.format(folder=str(folder)))
        sync_bag_to_db(bag, "dags-folder", None, session=session)
        session.query(DagModel).update({DagModel.is_paused: False})
        session.flush()
        needed, _ = DagModel.dags_needing_dagruns(session)
        assert "refresh.sound" in {dag.dag_id for dag in needed}
        assert session.get(DagModel, "broken.refreshes.orders.yaml") is not None
        session.rollback()


@pytest.mark.usefixtures("airflow")
def test_the_broken_one_is_a_dag_that_nothing_begins_and_that_says_what_is_wrong(folder: Path) -> None:
    bag = parsed(DAGS_OF.format(folder=str(folder)))
    assert (bag.import_errors, set(bag.dags)) == ({}, {"refresh.sound", "broken.refreshes.orders.yaml"})
    dag = bag.dags["broken.refreshes.orders.yaml"]
    assert (dag.tags, dag.timetable.can_be_scheduled, dag.task_ids) == ({"mine", "broken"}, False, ["broken"])
    for place in (dag.description, dag.doc_md):
        assert REPORTED in place
        assert "Keep one SELECT" in place


def test_its_task_fails_with_what_is_wrong(airflow: Airflow, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    dag = parsed(DAGS_OF.format(folder=str(folder))).dags["broken.refreshes.orders.yaml"]
    assert airflow.run(dag).tasks == {"broken": "failed"}
    reported = "".join(capfd.readouterr())
    for part in (REPORTED, "How the data was left: Nothing was changed.", "What to do: Keep one SELECT"):
        assert part in reported
    assert not (folder.parent / "control").exists()


def test_where_each_table_is_a_task_the_broken_one_is_a_task_that_fails(airflow: Airflow, folder: Path) -> None:
    (folder / "sound.yaml").unlink()
    dag = parsed(TASKS_OF.format(folder=str(folder))).dags["tasks"]
    assert airflow.run(dag).tasks == {"broken.refreshes.orders.yaml": "failed"}


def test_a_cascade_with_a_broken_definition_is_an_import_error(airflow: Airflow, folder: Path) -> None:
    body = "from airflow_refresh_provider import cascade_dag, load_definitions\n"
    line = f"cascade_dag('c', load_definitions({str(folder)!r}))"
    shown = airflow.import_error(body + line)
    assert REPORTED in shown and line in shown
