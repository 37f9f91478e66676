"""The style sheet and the scripts, which are files of this package."""

from __future__ import annotations

from importlib.resources import files

from fastapi import APIRouter, Depends, HTTPException
from fastapi.responses import Response

from airflow_refresh_provider.page.guard import reader

_TYPES = {
    "icon.svg": "image/svg+xml",
    "page.css": "text/css",
    "page.js": "text/javascript",
    "theme.js": "text/javascript",
    "htmx.min.js": "text/javascript",
}

router = APIRouter(dependencies=[Depends(reader)], include_in_schema=False)


@router.get("/static/{name}")
def static(name: str) -> Response:
    """A file. Pages name it with the release, so that a browser may keep it."""
    if name not in _TYPES:
        raise HTTPException(404, f"there is no file {name}")
    content = (files("airflow_refresh_provider.page") / "static" / name).read_bytes()
    return Response(content, media_type=_TYPES[name], headers={"cache-control": "private, max-age=86400"})
