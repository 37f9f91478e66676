"""How a refresh is submitted: the arguments of the Spark provider's hook, and those of the application.

The connection says the master. What belongs to this package is filled in: the program, its arguments, Delta's jars, the
Python of a driver that runs here. All else is the user's, by the names that the hook has for it.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowNotFoundException

from airflow_refresh_provider.core.run.options import to_arguments
from airflow_refresh_provider.errors import Invalid

if TYPE_CHECKING:
    from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
    from airflow.sdk import Connection

    from airflow_refresh_provider.core.run.request import Request

_UTC = "-Duser.timezone=UTC"
_CONFS = {"spark.driver.defaultJavaOptions": _UTC, "spark.executor.defaultJavaOptions": _UTC}
_DRIVER_PYTHON = "spark.pyspark.driver.python"
_OURS = frozenset(
    {
        "application_args",
        "conn_id",
        "java_class",
        # With these the submission ends before the application does, and something else has to track it.
        "track_driver_via_k8s_api",
        "yarn_track_via_rm_api",
    }
)


class DeltaFrom(StrEnum):
    """Where an application gets Delta's jars from."""

    JARS = "jars"  # this machine's cache, filled on demand
    PACKAGES = "packages"  # Spark's own resolver
    IMAGE = "image"  # they are where Spark is


@dataclass(frozen=True)
class Submission:
    """How applications are submitted.

    `options` are arguments of SparkSubmitHook; `application` is the location of the program, by default that of this
    installation. `delta` None: from the cache for a driver on this machine, else by Spark's resolver.
    """

    spark_conn_id: str
    application: str | None = None
    delta: DeltaFrom | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if wrong := sorted(_OURS & self.options.keys()):
            raise Invalid(
                "submit_option",
                f"{', '.join(wrong)} cannot be given for a submitted refresh",
                next="Leave it out of `submit_options`: the operator decides what is run and how it is watched.",
            )

    @property
    def program(self) -> str:
        """What is submitted: the program of this installation, unless another place was named."""
        return self.application or str(_program())

    def hook(self, name: str, arguments: list[str]) -> SparkSubmitHook:
        """The hook that submits. Raises Invalid when the connection does not name a cluster that can do it."""
        connection = _connection(self.spark_conn_id)
        cluster = self._deploys_to_cluster(connection)
        check_cluster(self.spark_conn_id, connection, cluster=cluster, kubernetes=_has_kubernetes())
        from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

        given = {"name": f"refresh.{name}", **_binary(), **self.options}
        confs = _CONFS if cluster else {**_CONFS, _DRIVER_PYTHON: sys.executable}
        delta = self.delta or (DeltaFrom.PACKAGES if cluster else DeltaFrom.JARS)
        return SparkSubmitHook(
            **{
                **given,
                **_joined(given, _delta(delta)),
                "conn_id": self.spark_conn_id,
                "conf": {**confs, **(given.get("conf") or {})},
                "application_args": arguments,
            }
        )

    def _deploys_to_cluster(self, connection: Connection) -> bool:
        wanted = self.options.get("deploy_mode") or connection.extra_dejson.get("deploy-mode")
        return bool(wanted == "cluster")


def arguments(name: str, control: str, request: Request, result_id: str) -> list[str]:
    """The arguments of the application for one refresh."""
    return [name, "--control", control, "--result-id", result_id, *to_arguments(request)]


def _program() -> Path:
    found = find_spec("airflow_refresh_provider.spark_apps")
    assert found is not None and found.submodule_search_locations
    return Path(found.submodule_search_locations[0]) / "refresh.py"


def _connection(conn_id: str) -> Connection:
    try:
        return BaseHook.get_connection(conn_id)
    except AirflowNotFoundException:
        raise Invalid(
            "no_spark_connection",
            f"the Spark connection {conn_id} does not exist",
            next=f"Create the connection {conn_id} of type spark.",
        ) from None


def _has_kubernetes() -> bool:
    """Whether Airflow's provider for Kubernetes is installed: the hook has the name only if it could be imported."""
    from airflow.providers.apache.spark.hooks import spark_submit

    return hasattr(spark_submit, "kube_client")


def check_cluster(conn_id: str, connection: Connection, *, cluster: bool, kubernetes: bool) -> None:
    """Refuse a cluster that cannot be submitted to. `kubernetes`: its provider is installed. Raises Invalid."""
    place = f"{connection.conn_type}://{connection.host}"
    if "k8s" in place and not kubernetes:
        raise Invalid(
            "no_kubernetes",
            f"the connection {conn_id} names a Kubernetes cluster, and Airflow's provider for it is not installed",
            next="pip install apache-airflow-providers-cncf-kubernetes",
        )
    if cluster and not ("yarn" in place or "k8s" in place):
        raise Invalid(
            "cluster_mode",
            f"the connection {conn_id} asks for deploy mode cluster, in which only YARN and Kubernetes run "
            "programs in Python",
            next="Set its deploy mode to client.",
        )


def _binary() -> dict[str, str]:
    """The program that submits, if it has to be named: the Spark of this Python, where none is on the path."""
    from airflow.providers.apache.spark.hooks.spark_submit import ALLOWED_SPARK_BINARIES

    if any(shutil.which(binary) for binary in ALLOWED_SPARK_BINARIES):
        return {}
    from airflow_refresh_provider.spark.server.installation import find

    return {"spark_binary": find(os.environ).submit}


def _delta(source: DeltaFrom) -> dict[str, str]:
    from airflow_refresh_provider.spark.server.installation import find
    from airflow_refresh_provider.spark.server.jars import EXCLUDED, PACKAGE, delta_jars

    match source:
        case DeltaFrom.JARS:
            return {"jars": ",".join(map(str, delta_jars(find(os.environ), os.environ)))}
        case DeltaFrom.PACKAGES:
            return {"packages": PACKAGE, "exclude_packages": EXCLUDED}
        case DeltaFrom.IMAGE:
            return {}


def _joined(given: Mapping[str, Any], delta: Mapping[str, str]) -> dict[str, str]:
    """Delta's jars and packages beside those that the user wants."""
    return {key: f"{given[key]},{value}" if given.get(key) else value for key, value in delta.items()}
