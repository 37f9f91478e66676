"""Who may see and change refreshes, as Airflow says."""

from __future__ import annotations

import hashlib
import hmac

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import AccessView, DagDetails
from airflow.api_fastapi.core_api.security import GetUserDep
from airflow.models.dag import DagModel
from airflow.sdk import conf
from fastapi import Request

from airflow_refresh_provider.page.ports import Visitor


class AirflowGate:
    """Users are Airflow's. Who may see plugins may see refreshes; who may edit the DAG of one may change it."""

    async def visitor(self, request: Request, user: GetUserDep) -> Visitor:
        """The user of the session or of a bearer token. Only the former can be misused by another site."""
        by_session = not request.headers.get("authorization", "").lower().startswith("bearer ")
        return Visitor(name=user.get_name(), token=_token(user.get_id()) if by_session else None, user=user)

    def may_read(self, visitor: Visitor) -> bool:
        """Whether the user may see plugins."""
        return get_auth_manager().is_authorized_view(access_view=AccessView.PLUGINS, user=visitor.user)

    def may_change(self, visitor: Visitor, name: str) -> bool:
        """Whether the user may edit the DAG that `refresh_dag` makes of a definition, or all DAGs."""
        dag_id = f"refresh.{name}"
        details = DagDetails(id=dag_id, team_name=DagModel.get_team_name(dag_id))
        return get_auth_manager().is_authorized_dag(method="PUT", details=details, user=visitor.user)


def may_see(visitor: Visitor, dag_id: str) -> bool:
    """Whether the user may see a DAG; it need not exist."""
    details = DagDetails(id=dag_id, team_name=DagModel.get_team_name(dag_id))
    return get_auth_manager().is_authorized_dag(method="GET", details=details, user=visitor.user)


def _token(user_id: str) -> str:
    """What a change of a user has to bring along; all API servers make the same."""
    secret = conf.get("api", "secret_key")
    return hmac.new(secret.encode(), f"refreshes {user_id}".encode(), hashlib.sha256).hexdigest()
