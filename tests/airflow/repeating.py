"""What a person does to DAG runs: clear tasks of one that has ended and have Airflow go on, mark one that is at work.

`dag.test` starts a new DAG run each time; here its loop is handed the one whose tasks were cleared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from unittest.mock import patch

if TYPE_CHECKING:
    from airflow.models.dagrun import DagRun
    from airflow.sdk import DAG
    from airflow.serialization.definitions.dag import SerializedDAG

Task = str | tuple[str, int]
"""A task, or one index of a mapped one."""


def clear(dag: DAG, run_id: str, tasks: tuple[Task, ...], *, downstream: bool) -> None:
    """As Airflow's REST interface does it: these tasks and, if wanted, what follows; without tasks, all of them."""
    from airflow.models.taskinstance import find_relevant_relatives
    from airflow.utils.session import create_session

    stored = _stored(dag)
    chosen = set(tasks)
    with create_session() as session:
        if downstream:
            normal = {task for task in tasks if isinstance(task, str)}
            mapped = {task for task in tasks if isinstance(task, tuple)}
            given: dict[str, Any] = {"dag": stored, "run_id": run_id, "session": session}
            chosen |= set(find_relevant_relatives(normal, mapped, direction="downstream", **given))
        stored.clear(task_ids=list(chosen) or None, run_id=run_id, session=session)


def go_on(dag: DAG, run_id: str) -> DagRun:
    """Let a DAG run whose tasks were cleared come to its end."""

    def found(*, dag: Any, session: Any, **_: Any) -> DagRun:
        from airflow.models.dagrun import DagRun
        from airflow.sdk import DagRunState

        run: DagRun = session.query(DagRun).filter_by(dag_id=dag.dag_id, run_id=run_id).one()
        run.dag, run.state = dag, DagRunState.RUNNING
        return run

    with patch("airflow.models.dagrun.get_or_create_dagrun", found):
        run: DagRun = dag.test()
    return run


def mark_run(dag: DAG, state: str) -> None:
    """Mark the one DAG run that is at work as successful or failed, as Airflow's REST interface does it."""
    from airflow.api.common.mark_tasks import set_dag_run_state_to_failed, set_dag_run_state_to_success
    from airflow.models.dagrun import DagRun
    from airflow.utils.session import create_session

    mark = set_dag_run_state_to_failed if state == "failed" else set_dag_run_state_to_success
    with create_session() as session:
        [run] = session.query(DagRun).filter_by(dag_id=dag.dag_id, state="running")
        mark(dag=_stored(dag), run_id=run.run_id, commit=True, session=session)


def _stored(dag: DAG) -> SerializedDAG:
    """A DAG as Airflow's components have it."""
    from airflow.serialization.serialized_objects import DagSerialization

    return DagSerialization.deserialize_dag(DagSerialization.serialize_dag(dag))
