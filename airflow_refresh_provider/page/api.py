"""The JSON API, version 1. Its models are those that the command line prints with `--output json`."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Query, Request
from pydantic import Field

from airflow_refresh_provider.core.run.admin_results import Recovery, RequestedRefresh
from airflow_refresh_provider.core.run.costs import CostsReport
from airflow_refresh_provider.core.run.health import Health
from airflow_refresh_provider.core.run.overview import DefinitionDetail, Filter, Overview
from airflow_refresh_provider.core.run.queue import Unqueued, WaitingRequest
from airflow_refresh_provider.core.run.reports import DefinitionStatus
from airflow_refresh_provider.core.run.results import ErrorReport
from airflow_refresh_provider.core.run.run_detail import RunDetail
from airflow_refresh_provider.core.run.steering import Act
from airflow_refresh_provider.core.run.throttle import MOST_ROWS
from airflow_refresh_provider.core.text.stored import Stored
from airflow_refresh_provider.page.guard import api_changer, api_starter, reader
from airflow_refresh_provider.page.ports import Views, Visitor
from airflow_refresh_provider.page.starting import continue_run, start

PREFIX = "/api/v1"
LIMIT = 1000


class Why(Stored):
    """The reason of a suspension, shown with the definition."""

    why: Annotated[str, Field(min_length=1, max_length=500)] = "by hand"


class Rate(Stored):
    """How many rows a second runs may change: 0 is without a limit, null as the definition says."""

    rows_per_second: Annotated[int, Field(strict=True, ge=0, le=MOST_ROWS)] | None


class HowCancelled(Stored):
    """Whether a cancelled run is abandoned; else the next run resumes it."""

    abandon: bool = False


class Problem(Stored):
    """What failed, how the data was left, what to do next."""

    error: ErrorReport


_REFUSED: dict[int | str, dict[str, Any]] = {
    401: {"description": "Not signed in"},
    403: {"description": "Not permitted"},
    404: {"model": Problem},
    409: {"model": Problem},
    503: {"model": Problem},
}
"""What every route may answer instead."""

router = APIRouter(prefix=PREFIX, dependencies=[Depends(reader)], responses=_REFUSED)


def views(request: Request) -> Views:
    """The views of the application. Raises errors.RefreshError where there are none."""
    found: Views = request.app.state.views()
    return found


ViewsDep = Annotated[Views, Depends(views)]


def wanted(
    tag: str | None = None, owner: str | None = None, health: Health | None = None, search: str | None = None
) -> Filter:
    """The definitions that are asked for."""
    return Filter(tag=tag or None, owner=owner or None, health=health, search=search or None)


WantedDep = Annotated[Filter, Depends(wanted)]
Skip = Annotated[int, Query(ge=0)]
Days = Annotated[int, Query(ge=1, le=90)]
"""As far as the history goes back."""
Limit = Annotated[int, Query(ge=1, le=LIMIT)]


@router.get("/overview")
def overview(views: ViewsDep, wanted: WantedDep, skip: Skip = 0, limit: Limit = LIMIT) -> Overview:
    """All definitions at once, those that need a person first."""
    return views.overview(wanted, skip, limit)


@router.get("/costs")
def costs(views: ViewsDep, days: Days = 30) -> CostsReport:
    """What runs of all definitions have cost, by day, definition and tag."""
    return views.costs(days)


@router.get("/definitions")
def definitions(views: ViewsDep, wanted: WantedDep, skip: Skip = 0, limit: Limit = LIMIT) -> list[DefinitionStatus]:
    """As `airflow-refresh list`, from what was last seen of inputs and targets."""
    return list(views.overview(wanted, skip, limit).definitions)


@router.get("/definitions/{name}")
def definition(views: ViewsDep, name: str) -> DefinitionDetail:
    """One definition: status as `show`, `freshness --why`, `explain`, `history`, and the definitions around it."""
    return views.definition(name)


@router.get("/definitions/{name}/runs/{run_id}")
def run(views: ViewsDep, name: str, run_id: str) -> RunDetail:
    """One run, in progress or ended."""
    return views.run(name, run_id)


@router.get("/queue")
def queue(views: ViewsDep) -> list[WaitingRequest]:
    """The requests of all definitions that wait for a run to end."""
    return views.queue(None)


@router.get("/definitions/{name}/queue")
def queue_of(views: ViewsDep, name: str) -> list[WaitingRequest]:
    """The requests of a definition that wait for its run to end, the next one first."""
    return views.queue(name)


@router.post("/definitions/{name}/queue/{request_id}/remove", dependencies=[Depends(api_changer)])
def unqueue(views: ViewsDep, name: str, request_id: str) -> Unqueued:
    """Remove a request that waits."""
    return views.unqueue(name, request_id)


@router.post("/definitions/{name}/pause", dependencies=[Depends(api_changer)])
def pause(views: ViewsDep, name: str) -> DefinitionStatus:
    """Pause a definition before its next chunk."""
    return views.pause(name)


@router.post("/definitions/{name}/resume", dependencies=[Depends(api_changer)])
def resume(views: ViewsDep, name: str) -> DefinitionStatus:
    """End a pause or a suspension."""
    return views.resume(name)


@router.post("/definitions/{name}/suspend", dependencies=[Depends(api_changer)])
def suspend(views: ViewsDep, name: str, why: Why) -> DefinitionStatus:
    """Start no refresh of a definition until it is resumed."""
    return views.suspend(name, why.why)


@router.post("/definitions/{name}/throttle", dependencies=[Depends(api_changer)])
def throttle(views: ViewsDep, name: str, rate: Rate) -> DefinitionStatus:
    """Limit the rate of runs from the next chunk on."""
    return views.throttle(name, rate.rows_per_second)


@router.post("/definitions/{name}/runs/{run_id}/cancel")
def cancel(
    views: ViewsDep, changer: Annotated[Visitor, Depends(api_changer)], name: str, run_id: str, how: HowCancelled
) -> Recovery:
    """End a run, and no later one; its statement in Spark is interrupted within seconds."""
    return views.cancel(name, run_id, abandon=how.abandon, by=changer.name)


@router.post("/definitions/{name}/refresh")
def refresh(
    request: Request,
    views: ViewsDep,
    starter: Annotated[Visitor, Depends(api_starter)],
    name: str,
    options: Annotated[dict[str, Any], Body()],
) -> RequestedRefresh:
    """Start a refresh with these options, each with a default: `mode`, `on_interrupted`, `force`, `strict`, a budget.

    While a run is in progress it waits in the queue, by its `priority`.
    """
    return start(request, views, starter, name, options)


@router.post("/definitions/{name}/runs/{run_id}/recover")
def recover(
    request: Request, views: ViewsDep, starter: Annotated[Visitor, Depends(api_starter)], name: str, run_id: str
) -> RequestedRefresh:
    """Start a refresh that continues an interrupted run, or abandons it where it cannot be, and starts no other."""
    return continue_run(request, views, starter, name, run_id, Act.RECOVER)


@router.post("/definitions/{name}/runs/{run_id}/take-over", dependencies=[Depends(api_changer)])
def take_over(
    request: Request, views: ViewsDep, starter: Annotated[Visitor, Depends(api_starter)], name: str, run_id: str
) -> RequestedRefresh:
    """Start a refresh that takes a run from its owner, even from one that is alive, and continues it."""
    return continue_run(request, views, starter, name, run_id, Act.TAKE_OVER)


@router.get("/openapi.json", include_in_schema=False)
def openapi(request: Request) -> dict[str, Any]:
    """What this API is, as OpenAPI."""
    described: dict[str, Any] = request.app.openapi()
    return described
