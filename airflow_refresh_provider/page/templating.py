"""The templates of this package. Every value is text to them: it is escaped."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

from airflow_refresh_provider import __version__
from airflow_refresh_provider.page.messages import with_code
from airflow_refresh_provider.page.ports import Visitor
from airflow_refresh_provider.page.shown import FILTERS


def render(
    request: Request, template: str, values: Mapping[str, Any], *, visitor: Visitor | None = None, status: int = 200
) -> HTMLResponse:
    """A page. `root` is where the application is mounted, `here` the address of this page below it."""
    root = request.scope.get("root_path", "").rstrip("/")
    query = f"?{request.url.query}" if request.url.query else ""
    path = request.scope["path"].removeprefix(root)
    page = _environment().get_template(template)
    text = page.render(root=root, here=f"{root}{path}{query}", visitor=visitor, release=__version__, **dict(values))
    return HTMLResponse(text, status)


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("airflow_refresh_provider.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {**FILTERS, "with_code": with_code}
    return made
