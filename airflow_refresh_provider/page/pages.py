"""The pages for people: all definitions, what they cost, one definition, one run."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import BeforeValidator, Field

from airflow_refresh_provider.core.run.health import Health
from airflow_refresh_provider.core.run.overview import Filter
from airflow_refresh_provider.core.run.results import ErrorReport, Outcome
from airflow_refresh_provider.core.run.throttle import MOST_ROWS
from airflow_refresh_provider.errors import RefreshError
from airflow_refresh_provider.page.answers import status_of
from airflow_refresh_provider.page.api import Days, Skip, ViewsDep
from airflow_refresh_provider.page.drawings import bars, chunk_map, day_bars, spark
from airflow_refresh_provider.page.guard import allowed_acts, form_changer, may_change, may_start, reader
from airflow_refresh_provider.page.lineage_graph import graph
from airflow_refresh_provider.page.ports import Views, Visitor
from airflow_refresh_provider.page.templating import render
from airflow_refresh_provider.views import formats

SHOWN = 200
"""Definitions on one page."""

router = APIRouter(dependencies=[Depends(reader)], include_in_schema=False, default_response_class=HTMLResponse)
Rate = Annotated[Annotated[int, Field(ge=0, le=MOST_ROWS)] | None, BeforeValidator(lambda text: text or None)]
"""As typed into a form: nothing is no number."""

VisitorDep = Annotated[Visitor, Depends(reader)]
ChangerDep = Annotated[Visitor, Depends(form_changer)]


def wanted(tag: str = "", owner: str = "", health: str = "", search: str = "") -> Filter:
    """The definitions that the form asks for; an unknown health asks for all."""
    known = Health(health) if health in set(Health) else None
    return Filter(tag=tag or None, owner=owner or None, health=known, search=search or None)


@router.get("/")
def overview(
    request: Request, views: ViewsDep, visitor: VisitorDep, wanted: Annotated[Filter, Depends(wanted)], skip: Skip = 0
) -> Response:
    """All definitions. It opens where the control tables cannot be read, too, and says why."""
    values: dict[str, Any] = {"wanted": wanted, "skip": skip, "shown": SHOWN, "error": None, "found": None}
    status = 200
    try:
        values["found"] = views.overview(wanted, skip, SHOWN)
    except RefreshError as error:
        values["error"], status = ErrorReport.of(error), status_of(error)
    given = {name: value for name, value in wanted.model_dump(mode="json").items() if value}
    values |= {"healths": list(Health), "query": urlencode(given)}
    return render(request, "overview.html", values, visitor=visitor, status=status)


@router.get("/costs")
def costs(request: Request, views: ViewsDep, visitor: VisitorDep, days: Days = 30, skip: Skip = 0) -> Response:
    """What runs have cost; of the definitions, as many as a page shows after those that are skipped."""
    found = views.costs(days)
    worked = {cost.of: cost.worked_seconds for cost in found.by_day}
    to_read = {cost.of: float(cost.bytes_to_read or 0) for cost in found.by_day}
    values = {
        "found": found,
        "worked": day_bars(worked, found.at, days, lambda seconds: f"{formats.duration(seconds)} worked"),
        "to_read": day_bars(to_read, found.at, days, lambda count: f"{formats.size(int(count))} to read"),
        "most_worked": max(worked.values(), default=0.0),
        "most_to_read": int(max(to_read.values(), default=0.0)),
        "skip": skip,
        "shown": SHOWN,
    }
    return render(request, "costs.html", values, visitor=visitor)


@router.get("/definitions/{name}")
def definition(request: Request, views: ViewsDep, visitor: VisitorDep, name: str) -> Response:
    """One definition."""
    return _definition(request, views, visitor, name)


@router.get("/definitions/{name}/runs/{run_id}")
def run(request: Request, views: ViewsDep, visitor: VisitorDep, name: str, run_id: str) -> Response:
    """One run."""
    found = views.run(name, run_id)
    values = {"found": found, "map": chunk_map(found.chunks), "changeable": may_change(request, visitor, name)}
    values["allowed"] = allowed_acts(request, visitor, name)
    return render(request, "run.html", values, visitor=visitor)


@router.post("/definitions/{name}/pause")
def pause(request: Request, views: ViewsDep, visitor: ChangerDep, name: str) -> Response:
    """Pause it, and show it."""
    views.pause(name)
    return _changed(request, views, visitor, name)


@router.post("/definitions/{name}/resume")
def resume(request: Request, views: ViewsDep, visitor: ChangerDep, name: str) -> Response:
    """Resume it, and show it."""
    views.resume(name)
    return _changed(request, views, visitor, name)


@router.post("/definitions/{name}/suspend")
def suspend(
    request: Request,
    views: ViewsDep,
    visitor: ChangerDep,
    name: str,
    why: Annotated[str, Form(max_length=500)] = "",
) -> Response:
    """Suspend it, and show it."""
    views.suspend(name, why.strip() or "by hand")
    return _changed(request, views, visitor, name)


@router.post("/definitions/{name}/throttle")
def throttle(
    request: Request,
    views: ViewsDep,
    visitor: ChangerDep,
    name: str,
    rows_per_second: Annotated[Rate, Form()] = None,
) -> Response:
    """Throttle it, and show it; without a number as the definition says."""
    views.throttle(name, rows_per_second)
    return _changed(request, views, visitor, name)


def _definition(request: Request, views: Views, visitor: Visitor, name: str) -> Response:
    found = views.definition(name)
    succeeded = [e.result for e in reversed(found.history) if e.outcome is Outcome.SUCCEEDED and e.result]
    lags = [result.lag_seconds for result in succeeded if result.lag_seconds is not None]
    values = {
        "found": found,
        "one": found.status,
        "bars": bars(found.history),
        "lags": spark(lags),
        "most_behind": max(lags, default=0.0),
        "graph": graph(found),
        "changeable": may_change(request, visitor, name),
        "allowed": allowed_acts(request, visitor, name),
        "startable": may_start(request, visitor, name),
        "not_run": request.app.state.starter.failure(name),
    }
    return render(request, "definition.html", values, visitor=visitor)


def _changed(request: Request, views: Views, visitor: Visitor, name: str) -> Response:
    """The definition again: as a part of the page where htmx asks, else by its own address."""
    if "hx-request" in request.headers:
        return _definition(request, views, visitor, name)
    root = request.scope.get("root_path", "").rstrip("/")
    return RedirectResponse(f"{root}/definitions/{name}", 303)
