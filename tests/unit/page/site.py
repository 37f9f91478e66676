"""The page over refreshes in memory, and visitors of every kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import HTTPException, Request
from starlette.testclient import TestClient

from airflow_refresh_provider.core.run.admin_results import RequestedRefresh
from airflow_refresh_provider.core.run.notice import Notice
from airflow_refresh_provider.core.run.record import Run
from airflow_refresh_provider.core.run.request import Request as RefreshRequest
from airflow_refresh_provider.core.run.results import ErrorReport
from airflow_refresh_provider.errors import RefreshError
from airflow_refresh_provider.page.app import create_app
from airflow_refresh_provider.page.guard import TOKEN_HEADER
from airflow_refresh_provider.page.ports import Starter, Views, Visitor, no_notices
from airflow_refresh_provider.page.stored_views import StoredViews
from airflow_refresh_provider.runner.refreshes import Refreshes

TOKEN = "a token of this page"
WITH_TOKEN = {TOKEN_HEADER: TOKEN}


class NamedGate:
    """Visitors say who they are: `editor`, `viewer`, `guest`, or `program`, which proves itself with each request."""

    async def visitor(self, request: Request) -> Visitor:
        name = request.headers.get("x-name")
        if name is None:
            raise HTTPException(401, "who are you?")
        return Visitor(name=name, token=None if name == "program" else TOKEN)

    def may_read(self, visitor: Visitor) -> bool:
        return visitor.name != "guest"

    def may_change(self, visitor: Visitor, name: str) -> bool:
        return visitor.name in ("editor", "program") and name != "untouchable"


class NotedStarter:
    """Notes what it is asked to start. `error`: what it raises instead; `ended`: why the last one failed.

    `patient`: what it starts waits for the run in progress; `followed`: of which definitions it sees to the queue.
    """

    def __init__(self) -> None:
        self.started: list[tuple[str, str, RefreshRequest]] = []
        self.error: RefreshError | None = None
        self.ended: ErrorReport | None = None
        self.patient = False
        self.followed: list[str] = []

    def may_start(self, visitor: Visitor, name: str) -> bool:
        return visitor.name not in ("guest", "viewer") and name != "untouchable"

    def start(self, visitor: Visitor, name: str, request: RefreshRequest) -> RequestedRefresh:
        if self.error:
            raise self.error
        self.started.append((visitor.name, name, request))
        return RequestedRefresh(name=name, started="a noted run", waits="it is only noted")

    def waits_for(self, name: str, run: Run) -> bool:
        return self.patient

    def follow(self, name: str) -> str:
        self.followed.append(name)
        return "a noted process takes it then"

    def failure(self, name: str) -> ErrorReport | None:
        return self.ended


def at_once(work: Callable[[], None]) -> None:
    work()


def views_of(refreshes: Refreshes, notices: Callable[[], tuple[Notice, ...]] = no_notices) -> StoredViews:
    """Views whose looks are made at once."""
    return StoredViews(refreshes, notices, start=at_once)


def browser(
    of: Refreshes | Views, name: str | None = "editor", starter: Starter | None = None, **options: Any
) -> TestClient:
    """A browser of a visitor of this name; None is one that is not signed in."""
    views = views_of(of) if isinstance(of, Refreshes) else of
    headers = {} if name is None else {"x-name": name}
    app = create_app(lambda: views, NamedGate(), starter or NotedStarter())
    return TestClient(app, headers=headers, follow_redirects=False, **options)
