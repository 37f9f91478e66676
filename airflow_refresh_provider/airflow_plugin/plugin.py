"""What Airflow loads as a plugin, in every component: the page, made by the first request to it, and notes of runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow.sdk.plugins_manager import AirflowPlugin

from airflow_refresh_provider.airflow_plugin import run_notes
from airflow_refresh_provider.hooks.addresses import PREFIX, ROUTE, page_path

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send


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
            from airflow_refresh_provider.airflow_plugin.tabs import router
            from airflow_refresh_provider.airflow_plugin.views import Roots
            from airflow_refresh_provider.page.app import create_app

            app = create_app(Roots().views, AirflowGate(), DagStarter())
            app.include_router(router)
            self._app = app
        return self._app


def _view(name: str, destination: str, route: str, path: str = "") -> dict[str, str]:
    """A page in the navigation, or a tab; Airflow puts ids in the place of those in braces."""
    icon = f"{page_path()}static/icon.svg"
    return {"name": name, "href": f"{page_path()}{path}", "destination": destination, "url_route": route, "icon": icon}


class RefreshPlugin(AirflowPlugin):
    """The page, its place in the navigation, the tabs of DAGs and DAG runs, and the notes of the latter."""

    name = "refreshes"
    fastapi_apps = [{"app": LazyApp(), "url_prefix": PREFIX, "name": "Refreshes"}]
    listeners = [run_notes]
    external_views = [
        _view("Refreshes", "nav", ROUTE) | {"category": "browse"},
        _view("Refresh", "dag", "refresh", "dags/{DAG_ID}"),
        _view("Refresh", "dag_run", "refresh-run", "dags/{DAG_ID}/runs/{RUN_ID}"),
    ]
