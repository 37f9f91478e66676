"""Commands about the embedded Spark server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_refresh_provider.cli.call import Call
from airflow_refresh_provider.core.run.admin_results import ServerReport
from airflow_refresh_provider.core.text.spark_url import shown
from airflow_refresh_provider.errors import Invalid
from airflow_refresh_provider.places import EMBEDDED

if TYPE_CHECKING:
    from airflow_refresh_provider.spark.server.embedded import EmbeddedServer


def start(call: Call) -> ServerReport:
    """Start the server, unless it runs."""
    server = _server(call)
    call.watch.stage("start Spark")
    server.ensure()
    return _report(server)


def stop(call: Call) -> ServerReport:
    """Stop the server if it runs. A refresh that uses it can be resumed."""
    server = _server(call)
    server.stop()
    return _report(server)


def status(call: Call) -> ServerReport:
    """Whether the server runs, without starting it."""
    return _report(_server(call))


def _server(call: Call) -> EmbeddedServer:
    from airflow_refresh_provider.compose import embedded_server

    places = call.places
    if places.spark != EMBEDDED:
        raise Invalid(
            "spark_is_remote",
            f"Spark is {shown(places.spark)}, which is not started or stopped by this tool",
            next="Leave out --spark and AIRFLOW_REFRESH_SPARK to use the embedded server.",
        )
    return embedded_server(places)


def _report(server: EmbeddedServer) -> ServerReport:
    found = server.status()
    return ServerReport(running=found.running, url=found.url, pid=found.pid, home=str(found.home), log=str(found.log))
