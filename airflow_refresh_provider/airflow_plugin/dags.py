"""What Airflow's database says of a DAG: which definitions it refreshes, and what its tasks said of a DAG run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airflow.models.serialized_dag import SerializedDagModel
from airflow.models.xcom import XComModel
from airflow.utils.session import create_session
from sqlalchemy import select
from sqlalchemy.orm import Session

from airflow_refresh_provider.hooks.refresh_hook import RefreshHook
from airflow_refresh_provider.task_context.binding import NOTE, name_of

_FIELD = "definition_name"
"""What tasks that refresh have, and no others."""
_RESULT = "return_value"


@dataclass(frozen=True)
class Refreshing:
    """What a DAG refreshes: definition -> connection to its control tables, and the tasks that do.

    `mapped`: some tasks get their definitions while they run.
    """

    definitions: dict[str, str]
    tasks: tuple[str, ...]
    mapped: bool


@dataclass(frozen=True)
class Said:
    """What the tasks of a DAG run said: definition -> its run, and the lines that they left, by task."""

    runs: dict[str, str]
    notes: dict[str, str]


def refreshing(dag_id: str) -> Refreshing:
    """What the newest version of a DAG refreshes; nothing for a DAG that Airflow does not know."""
    with create_session() as session:
        tasks = _tasks(dag_id, session)
    definitions: dict[str, str] = {}
    mapped = False
    for task in tasks:
        given = getattr(task, "partial_kwargs", {}) or vars(task)
        name = given.get(_FIELD) or (name_of(given["definition"]) if "definition" in given else None)
        if name is None:
            mapped = True
        else:
            definitions.setdefault(name, given.get("refresh_conn_id") or RefreshHook.default_conn_name)
    return Refreshing(definitions, tuple(str(task.task_id) for task in tasks), mapped)


def said(dag_id: str, run_id: str, tasks: tuple[str, ...]) -> Said:
    """What these tasks of a DAG run have returned and noted so far."""
    runs: dict[str, str] = {}
    notes: dict[str, str] = {}
    of_run = select(XComModel).where(XComModel.dag_id == dag_id, XComModel.run_id == run_id)
    query = of_run.where(XComModel.task_id.in_(tasks), XComModel.key.in_((_RESULT, NOTE))).order_by(XComModel.timestamp)
    with create_session() as session:
        for xcom in session.scalars(query):
            value = XComModel.deserialize_value(xcom)
            if xcom.key == NOTE:
                notes[xcom.task_id] = str(value)
            elif found := _run(value):
                runs[found[0]] = found[1]
    return Said(runs, notes)


def notes(dag_id: str, run_id: str, session: Session) -> dict[str, str]:
    """The lines that the tasks of a DAG run left, by task, the oldest first; the DAG is read only if there are any."""
    of_run = select(XComModel).where(XComModel.dag_id == dag_id, XComModel.run_id == run_id)
    query = of_run.where(XComModel.key == NOTE).order_by(XComModel.timestamp)
    left = {xcom.task_id: str(XComModel.deserialize_value(xcom)) for xcom in session.scalars(query)}
    ours = {task.task_id for task in _tasks(dag_id, session)} if left else set()
    return {task: line for task, line in left.items() if task in ours}


def _tasks(dag_id: str, session: Session) -> list[Any]:
    """The tasks of a DAG that refresh."""
    found = SerializedDagModel.get(dag_id, session=session)
    return [task for task in found.dag.tasks if _FIELD in task.template_fields] if found else []


def _run(value: Any) -> tuple[str, str] | None:
    """The definition and the run of what a first or a last task of a refresh returns."""
    given = value if isinstance(value, dict) else {}
    name, run_id = given.get("name"), given.get("run_id")
    return (name, run_id) if isinstance(name, str) and isinstance(run_id, str) else None
