"""Who may see and change what, as dependencies of routes."""

from __future__ import annotations

import hmac
from typing import Annotated

from fastapi import Depends, Form, Header, HTTPException, Request

from airflow_refresh_provider.core.run.steering import Act
from airflow_refresh_provider.page.ports import Gate, Starter, Visitor

TOKEN_HEADER = "X-Refresh-Token"
_SITE = "Sec-Fetch-Site"


def visitor() -> Visitor:
    """Who asks; an application has that of its gate in this place."""
    raise HTTPException(401, "no one is known here")


def reader(request: Request, visitor: Annotated[Visitor, Depends(visitor)]) -> Visitor:
    """Who asks, and may see refreshes. Raises HTTPException 401, 403."""
    if not _gate(request).may_read(visitor):
        raise HTTPException(403, "you may not see refreshes: ask for the permission to see plugins")
    return visitor


def from_api(
    visitor: Annotated[Visitor, Depends(reader)],
    token: Annotated[str, Header(alias=TOKEN_HEADER)] = "",
    site: Annotated[str | None, Header(alias=_SITE)] = None,
) -> Visitor:
    """Who asks, by a program or a script of this page. Raises HTTPException 401, 403."""
    return _genuine(visitor, token, site)


def from_form(
    visitor: Annotated[Visitor, Depends(reader)],
    token: Annotated[str, Form()] = "",
    site: Annotated[str | None, Header(alias=_SITE)] = None,
) -> Visitor:
    """As `from_api`, by a form of this page."""
    return _genuine(visitor, token, site)


def api_changer(request: Request, name: str, visitor: Annotated[Visitor, Depends(from_api)]) -> Visitor:
    """Who asks, and may change the definition `name` of the path. Raises HTTPException 401, 403."""
    return _changer(request, name, visitor)


def form_changer(request: Request, name: str, visitor: Annotated[Visitor, Depends(from_form)]) -> Visitor:
    """As `api_changer`, for a form of this page."""
    return _changer(request, name, visitor)


def api_starter(request: Request, name: str, visitor: Annotated[Visitor, Depends(from_api)]) -> Visitor:
    """Who asks, and may start a refresh of the definition `name` of the path. Raises HTTPException 401, 403."""
    return _starter(request, name, visitor)


def form_starter(request: Request, name: str, visitor: Annotated[Visitor, Depends(from_form)]) -> Visitor:
    """As `api_starter`, for a form of this page."""
    return _starter(request, name, visitor)


def may_start(request: Request, visitor: Visitor, name: str) -> bool:
    """Whether the page offers a refresh."""
    starter: Starter = request.app.state.starter
    return starter.may_start(visitor, name)


def may_change(request: Request, visitor: Visitor, name: str) -> bool:
    """Whether the page offers a change."""
    return _gate(request).may_change(visitor, name)


def allowed_acts(request: Request, visitor: Visitor, name: str) -> frozenset[Act]:
    """What the page offers to do with a run: who takes one over starts a refresh, and changes the definition."""
    starts, changes = may_start(request, visitor, name), may_change(request, visitor, name)
    found = {Act.RECOVER: starts, Act.TAKE_OVER: starts and changes, Act.CANCEL: changes, Act.ABANDON: changes}
    return frozenset(act for act, allowed in found.items() if allowed)


def _changer(request: Request, name: str, visitor: Visitor) -> Visitor:
    if not may_change(request, visitor, name):
        raise HTTPException(403, f"you may not change {name}: ask for the permission to edit its DAG")
    return visitor


def _starter(request: Request, name: str, visitor: Visitor) -> Visitor:
    if not may_start(request, visitor, name):
        raise HTTPException(403, f"you may not refresh {name}: ask for the permission to trigger its DAG")
    return visitor


def _genuine(visitor: Visitor, token: str, site: str | None) -> Visitor:
    """The visitor, if the change comes from this page."""
    foreign = site is not None and site not in ("same-origin", "none")
    if visitor.token is not None and (foreign or not hmac.compare_digest(token.encode(), visitor.token.encode())):
        raise HTTPException(403, "the change does not come from this page: reload the page and try again")
    return visitor


def _gate(request: Request) -> Gate:
    gate: Gate = request.app.state.gate
    return gate
