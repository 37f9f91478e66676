"""What Airflow loads as a plugin, in every component: the page is made by the first request to it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from airflow.sdk import conf
from airflow.sdk.plugins_manager import AirflowPlugin

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

PREFIX = "/refreshes"


class LazyApp:
    """The page, which is not imported where no one asks for it."""

    def __init__(self) -> None:
        self._app: ASGIApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._made()(scope, receive, send)

    def _made(self) -> ASGIApp:
        if self._app is None:
            from airflow_refresh_provider.airflow_plugin.gate import AirflowGate
            from airflow_refresh_provider.airflow_plugin.starter import DagStarter
            from airflow_refresh_provider.airflow_plugin.views import Roots
            from airflow_refresh_provider.page.app import create_app

            self._app = create_app(Roots().views, AirflowGate(), DagStarter())
        return self._app


def _address() -> str:
    """The path of the page on the host of Airflow, which may be below another one."""
    return f"{urlsplit(conf.get('api', 'base_url', fallback='')).path.rstrip('/')}{PREFIX}/"


class RefreshPlugin(AirflowPlugin):
    """The page and its place in the navigation."""

    name = "refreshes"
    fastapi_apps = [{"app": LazyApp(), "url_prefix": PREFIX, "name": "Refreshes"}]
    external_views = [
        {
            "name": "Refreshes",
            "href": _address(),
            "destination": "nav",
            "category": "browse",
            "url_route": "refreshes",
            "icon": f"{_address()}static/icon.svg",
        }
    ]
