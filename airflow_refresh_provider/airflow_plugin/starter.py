"""Refreshes that are started from the page in Airflow: a DAG run of the definition's DAG, triggered by the user."""

from __future__ import annotations

from airflow.api.common.trigger_dag import trigger_dag
from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity, DagDetails
from airflow.models.dag import DagModel
from airflow.models.dagrun import DagRun
from airflow.sdk.exceptions import AirflowException
from airflow.utils.state import DagRunState
from airflow.utils.types import DagRunTriggeredByType

from airflow_refresh_provider.core.run.admin_results import RequestedRefresh
from airflow_refresh_provider.core.run.record import Run
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import ErrorReport
from airflow_refresh_provider.errors import Refused
from airflow_refresh_provider.page.ports import Visitor

_PAUSED = "its DAG is paused: unpause it, or trigger no run"


def dag_id_of(name: str) -> str:
    """The DAG that `refresh_dag` makes of a definition."""
    return f"refresh.{name}"


class DagStarter:
    """Triggers DAG runs, for those who may trigger the DAG."""

    def may_start(self, visitor: Visitor, name: str) -> bool:
        """Whether the user may trigger the DAG of a definition, or all DAGs."""
        dag_id = dag_id_of(name)
        return get_auth_manager().is_authorized_dag(
            method="POST",
            access_entity=DagAccessEntity.RUN,
            details=DagDetails(id=dag_id, team_name=DagModel.get_team_name(dag_id)),
            user=visitor.user,
        )

    def start(self, visitor: Visitor, name: str, request: Request) -> RequestedRefresh:
        """Trigger a DAG run with these options. Raises Refused where Airflow does not."""
        dag_id = dag_id_of(name)
        dag = DagModel.get_current(dag_id)
        if dag is None or dag.is_stale:
            raise _refused(f"there is no DAG {dag_id}", f"Trigger the DAG that refreshes {name}, or run")
        if dag.has_import_errors:
            raise _refused(f"the file of the DAG {dag_id} has import errors", "Correct it, or run")
        options = request.model_dump(mode="json", exclude_defaults=True)
        try:
            made = trigger_dag(
                dag_id,
                triggered_by=DagRunTriggeredByType.UI,
                triggering_user_name=visitor.name,
                conf=options,
            )
        except (AirflowException, ValueError) as error:
            raise _refused(f"Airflow does not trigger {dag_id}: {error}", "Correct the cause, or run") from None
        run = f"DAG run {made.run_id} of {dag_id}" if made else f"a DAG run of {dag_id}"
        return RequestedRefresh(name=name, started=run, waits=_waits(dag, made.run_id if made else None))

    def waits_for(self, name: str, run: Run) -> bool:
        """Airflow itself starts a DAG run after the ones of the same DAG that are in progress."""
        dag_id, _, _run_id = (run.origin or "").partition(" ")[2].partition(" ")
        return dag_id == dag_id_of(name)

    def follow(self, name: str) -> str:
        """A DAG run that meets another run would only wait in the same queue."""
        return f"the command that holds the run takes it then, or the next DAG run of {dag_id_of(name)} that is due"

    def failure(self, name: str) -> ErrorReport | None:
        """The DAG run says it."""
        return None


def _waits(dag: DagModel, made: str | None) -> str | None:
    """Why a DAG run that was triggered does not start yet."""
    if dag.is_paused:
        return _PAUSED
    others = [one.run_id for one in DagRun.find(dag_id=dag.dag_id, state=DagRunState.RUNNING) if one.run_id != made]
    if not dag.max_active_runs or len(others) < dag.max_active_runs:
        return None
    return f"the DAG run {others[0]} is running: wait for its end, or mark it as failed, which also releases its run"


def _refused(why: str, do: str) -> Refused:
    return Refused("not_triggered", why, next=f"{do} `airflow-refresh run` in a terminal.")
