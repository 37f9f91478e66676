"""The command that serves the page on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_refresh_provider.cli.call import Call
from airflow_refresh_provider.core.run.admin_results import PageReport
from airflow_refresh_provider.errors import Interrupted

if TYPE_CHECKING:
    import socket

    from starlette.types import ASGIApp


def page(call: Call, port: int) -> PageReport:
    """Serve the page until a signal comes."""
    from airflow_refresh_provider.page.child_runs import ChildRuns
    from airflow_refresh_provider.page.stand_alone import TokenGate, address, listening, stand_alone
    from airflow_refresh_provider.page.stored_views import StoredViews

    views, gate = StoredViews(call.refreshes()), TokenGate()
    with listening(port) as at, ChildRuns(call.places, call.environment) as runs:
        url = address(at, gate)
        call.watch.note(f"the page is at {url}\nCtrl-C ends it, and the refreshes that it has started")
        _serve(stand_alone(views, gate, runs), at)
    return PageReport(url=url.partition("?")[0])


def _serve(app: ASGIApp, at: socket.socket) -> None:
    """Answer requests until SIGINT or SIGTERM comes, which is how the page ends."""
    import uvicorn

    config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=2)
    try:
        uvicorn.Server(config).run(sockets=[at])
    except Interrupted:
        return
