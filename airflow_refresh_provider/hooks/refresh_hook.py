"""The connection type `airflow_refresh`: where the control tables are, and which Spark is used."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Protocol

from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowNotFoundException

from airflow_refresh_provider.errors import Invalid, RefreshError
from airflow_refresh_provider.places import CONTROL_VARIABLE, SPARK_VARIABLE, Places, current_folder, resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from airflow_refresh_provider.core.run.owner import OriginStatus
    from airflow_refresh_provider.ports.watch import Watch
    from airflow_refresh_provider.publication import PublishedVersion
    from airflow_refresh_provider.runner.refreshes import Refreshes


class _Connection(Protocol):
    """A connection, of the SDK or of Airflow's database."""

    @property
    def extra_dejson(self) -> Any: ...


_VARIABLES = {"control": CONTROL_VARIABLE, "spark": SPARK_VARIABLE}


class RefreshHook(BaseHook):
    """Refreshes of the control root that a connection names. Environment variables outrank the connection."""

    conn_name_attr = "refresh_conn_id"
    default_conn_name = "refresh_default"
    conn_type = "airflow_refresh"
    hook_name = "Delta refresh"

    def __init__(self, refresh_conn_id: str = default_conn_name) -> None:
        super().__init__()
        self.refresh_conn_id = refresh_conn_id

    def get_conn(self) -> Refreshes:
        """The refreshes of the control root."""
        return self.refreshes()

    def refreshes(
        self,
        watch: Watch | None = None,
        label: str | None = None,
        origin_status: Callable[[str], OriginStatus] | None = None,
    ) -> Refreshes:
        """The refreshes of the control root, as one owner sees them. Raises Invalid when no root is known."""
        from airflow_refresh_provider.compose import refreshes

        return refreshes(self.places(), watch, label, origin_status)

    def published(self, name: str) -> PublishedVersion:
        """The newest whole refresh of a definition, and the SQL that reads it. Raises as `publication.published`."""
        from airflow_refresh_provider.publication import published

        return published(name, self.places().control)

    def places(self, environment: Mapping[str, str] = os.environ) -> Places:
        """Control root and Spark. Raises Invalid when neither environment nor connection name a control root."""
        given = {_VARIABLES[key]: value for key, value in self.fields().items()}
        try:
            said = {name: value for name, value in environment.items() if value}
            return resolve(given | said, current_folder, None, None)
        except Invalid as error:
            if error.code != "no_control":
                raise
            raise Invalid(
                "no_control",
                f"neither {CONTROL_VARIABLE} nor the connection {self.refresh_conn_id} says where "
                "the control tables are",
                next=f"Create the connection {self.refresh_conn_id} of type {self.conn_type} "
                "with the field Control root.",
            ) from None

    def test_connection(self) -> tuple[bool, str]:
        """Whether the control tables can be read and the Spark server, unless it is the embedded one, answers."""
        from airflow_refresh_provider.compose import look

        try:
            return True, look(self.places())
        except RefreshError as error:
            return False, f"{error.message}. {error.next}"

    def fields(self) -> dict[str, str]:
        """`control` and `spark` of the connection, as far as given; empty when there is no such connection."""
        try:
            return self.fields_of(self.get_connection(self.refresh_conn_id))
        except AirflowNotFoundException:
            return {}

    def fields_of(self, connection: _Connection) -> dict[str, str]:
        """The fields of a connection. Raises Invalid when they are not as the form makes them."""
        try:
            extras = connection.extra_dejson
        except ValueError:
            raise self._broken("its extras are not JSON") from None
        if not isinstance(extras, dict):
            raise self._broken("its extras are not a JSON object")
        wrong = [key for key in _VARIABLES if not isinstance(extras.get(key) or "", str)]
        if wrong:
            raise self._broken(f"{wrong[0]} is not text")
        given = {key: extras[key] for key in _VARIABLES if extras.get(key)}
        if (
            "control" in given
            and "://" not in given["control"]
            and not given["control"].lower().startswith(("/", "file:"))
        ):
            # Every worker would resolve it against another folder.
            raise self._broken(f"the control root {given['control']!r} is neither an absolute path nor a URI")
        return given

    def _broken(self, why: str) -> Invalid:
        return Invalid(
            "broken_connection",
            f"the connection {self.refresh_conn_id} cannot be used: {why}",
            next="Correct it under Admin, Connections.",
        )
