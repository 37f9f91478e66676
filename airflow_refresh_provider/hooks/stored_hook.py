"""The connection as components of Airflow with a database read it, such as the API server and the command line."""

from __future__ import annotations

from airflow_refresh_provider.errors import Failed
from airflow_refresh_provider.hooks.refresh_hook import RefreshHook


class StoredRefreshHook(RefreshHook):
    """A hook outside of tasks."""

    def fields(self) -> dict[str, str]:
        """As those of a hook in a task. Raises Invalid, and Failed where Airflow's database cannot be read."""
        from airflow.configuration import ensure_secrets_loaded
        from sqlalchemy.exc import SQLAlchemyError

        found = (backend.get_connection(conn_id=self.refresh_conn_id) for backend in ensure_secrets_loaded())
        try:
            connection = next((c for c in found if c is not None), None)
        except SQLAlchemyError as error:
            raise _no_database(self.refresh_conn_id, error) from None
        return self.fields_of(connection) if connection is not None else {}


def _no_database(conn_id: str, error: Exception) -> Failed:
    from airflow.configuration import AIRFLOW_HOME

    return Failed(
        "airflow_database",
        f"the connection {conn_id} cannot be read from Airflow's database: {str(error).splitlines()[0]}",
        left="Nothing was changed.",
        next=f"Run `airflow db migrate`, or set AIRFLOW_HOME (it is {AIRFLOW_HOME}) to the Airflow that has the "
        "connection, or give --control and --spark.",
    )
