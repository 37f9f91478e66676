"""Who may see and change what, as dependencies of routes."""

from __future__ import annotations

import hmac
from typing import Annotated

from fastapi import Depends, Form, Header, HTTPException, Request

from airflow_refresh_provider.page.ports import Gate, Visitor

TOKEN_FIELD = "token"
TOKEN_HEADER = "X-Refresh-Token"


async def visitor(request: Request) -> Visitor:
    """Who asks. Raises HTTPException 401, 403."""
    return await _gate(request).visitor(request)


def reader(request: Request, visitor: Annotated[Visitor, Depends(visitor)]) -> Visitor:
    """Who asks, and may see refreshes. Raises HTTPException 401, 403."""
    if not _gate(request).may_read(visitor):
        raise HTTPException(403, "you may not see refreshes: ask for the permission to see plugins")
    return visitor


def changer(
    request: Request,
    name: str,
    visitor: Annotated[Visitor, Depends(reader)],
    header: Annotated[str | None, Header(alias=TOKEN_HEADER)] = None,
    field: Annotated[str | None, Form(alias=TOKEN_FIELD)] = None,
    site: Annotated[str | None, Header(alias="Sec-Fetch-Site")] = None,
) -> Visitor:
    """Who asks, and may change the definition `name` of the path, from this page. Raises HTTPException 401, 403."""
    if not _gate(request).may_change(visitor, name):
        raise HTTPException(403, f"you may not change {name}: ask for the permission to edit its DAG")
    given = header or field or ""
    foreign = site is not None and site not in ("same-origin", "none")
    if visitor.token is not None and (foreign or not hmac.compare_digest(given.encode(), visitor.token.encode())):
        raise HTTPException(403, "the change does not come from this page: reload the page and try again")
    return visitor


def _gate(request: Request) -> Gate:
    gate: Gate = request.app.state.gate
    return gate
