"""The web application over its ports."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from airflow_refresh_provider import __version__
from airflow_refresh_provider.core.run.results import ErrorReport
from airflow_refresh_provider.errors import RefreshError
from airflow_refresh_provider.page import api, files, guard, pages, steering
from airflow_refresh_provider.page.answers import status_of
from airflow_refresh_provider.page.ports import Gate, Starter, Views
from airflow_refresh_provider.page.shield import Shield
from airflow_refresh_provider.page.templating import render


def create_app(views: Callable[[], Views], gate: Gate, starter: Starter) -> FastAPI:
    """The page and its API, at addresses below the one where it is mounted.

    `views` is called for each request, and raises errors.RefreshError where there are none.
    """
    app = FastAPI(title="Refreshes", version=__version__, docs_url=None, redoc_url=None, openapi_url=None)
    app.state.views, app.state.gate, app.state.starter = views, gate, starter
    app.dependency_overrides[guard.visitor] = gate.visitor
    app.add_middleware(Shield)
    app.include_router(api.router)
    app.include_router(files.router)
    app.include_router(pages.router)
    app.include_router(steering.router)
    app.add_exception_handler(RefreshError, _failed)  # type: ignore[arg-type]
    app.add_exception_handler(HTTPException, _refused)  # type: ignore[arg-type]
    app.add_exception_handler(RequestValidationError, _invalid)  # type: ignore[arg-type]
    return app


def _failed(request: Request, error: RefreshError) -> Response:
    return _answer(request, ErrorReport.of(error), status_of(error))


def _refused(request: Request, error: HTTPException) -> Response:
    """Not signed in, or not permitted."""
    code, after = _WORDS.get(error.status_code, ("not_possible", "Go back to the overview."))
    report = ErrorReport(code=code, message=str(error.detail), left="Nothing was changed.", next=after)
    return _answer(request, report, error.status_code)


_WORDS = {
    401: ("not_signed_in", "Sign in, then open this page again."),
    403: ("not_permitted", "Ask an administrator for the permission."),
    404: ("not_found", "Go back to the overview."),
}


def _invalid(request: Request, error: RequestValidationError) -> Response:
    wrong = "; ".join(f"{'.'.join(map(str, one['loc'][1:]))}: {one['msg']}" for one in error.errors())
    report = ErrorReport(code="invalid_request", message=wrong, left="Nothing was changed.", next="Correct it.")
    return _answer(request, report, 422)


def _answer(request: Request, report: ErrorReport, status: int) -> Response:
    """As JSON below the API, else as a page."""
    root = request.scope.get("root_path", "").rstrip("/")
    if request.scope["path"].removeprefix(root).startswith(api.PREFIX):
        return JSONResponse({"error": report.model_dump()}, status)
    return render(request, "problem.html", {"error": report, "status": status}, status=status)
