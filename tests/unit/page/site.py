"""The page over refreshes in memory, and visitors of every kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import HTTPException, Request
from starlette.testclient import TestClient

from airflow_refresh_provider.core.run.notice import Notice
from airflow_refresh_provider.page.app import create_app
from airflow_refresh_provider.page.guard import TOKEN_HEADER
from airflow_refresh_provider.page.ports import Views, Visitor, no_notices
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


def at_once(work: Callable[[], None]) -> None:
    work()


def views_of(refreshes: Refreshes, notices: Callable[[], tuple[Notice, ...]] = no_notices) -> StoredViews:
    """Views whose looks are made at once."""
    return StoredViews(refreshes, notices, start=at_once)


def browser(of: Refreshes | Views, name: str | None = "editor", **options: Any) -> TestClient:
    """A browser of a visitor of this name; None is one that is not signed in."""
    views = views_of(of) if isinstance(of, Refreshes) else of
    headers = {} if name is None else {"x-name": name}
    return TestClient(create_app(lambda: views, NamedGate()), headers=headers, follow_redirects=False, **options)
