"""Pages with a form of their own, which work without scripts.

Refresh now, remove from the queue, and what can be done with a run: recover, take over, cancel, abandon.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from airflow_refresh_provider.core.run.admin_results import RequestedRefresh
from airflow_refresh_provider.core.run.run_detail import RunDetail
from airflow_refresh_provider.core.run.steering import Act
from airflow_refresh_provider.page.api import ViewsDep
from airflow_refresh_provider.page.guard import allowed_acts, form_changer, form_starter, may_change, may_start, reader
from airflow_refresh_provider.page.ports import Views, Visitor
from airflow_refresh_provider.page.starting import OPTIONS, PRIORITY, continue_run, start, waits_in_queue
from airflow_refresh_provider.page.templating import render

_TOKEN = "token"

router = APIRouter(dependencies=[Depends(reader)], include_in_schema=False, default_response_class=HTMLResponse)
VisitorDep = Annotated[Visitor, Depends(reader)]


async def fields(request: Request) -> dict[str, str]:
    """The fields of a form that were filled in, as text, but for its token."""
    return {name: str(value) for name, value in (await request.form()).items() if name != _TOKEN and value != ""}


@router.get("/definitions/{name}/refresh")
def refresh_form(request: Request, views: ViewsDep, visitor: VisitorDep, name: str) -> Response:
    """The options of a refresh. Raises Refused where none can start, or wait for the run in progress."""
    run = waits_in_queue(request, views, name)
    options = (*OPTIONS, PRIORITY) if run else OPTIONS
    values = {"name": name, "options": options, "run": run, "startable": may_start(request, visitor, name)}
    return render(request, "refresh.html", values, visitor=visitor)


@router.post("/definitions/{name}/refresh")
def refresh(
    request: Request,
    views: ViewsDep,
    visitor: Annotated[Visitor, Depends(form_starter)],
    name: str,
    given: Annotated[dict[str, str], Depends(fields)],
) -> Response:
    """Start it or let it wait, and say what was started."""
    return _started(request, visitor, start(request, views, visitor, name, given))


@router.get("/definitions/{name}/runs/{run_id}/recover")
def recover_form(request: Request, views: ViewsDep, visitor: VisitorDep, name: str, run_id: str) -> Response:
    """What recovering a run means, to be confirmed. Raises Refused where it cannot be recovered now."""
    return _confirm(request, views, visitor, Act.RECOVER, views.run(name, run_id))


@router.post("/definitions/{name}/runs/{run_id}/recover")
def recover(
    request: Request,
    views: ViewsDep,
    visitor: Annotated[Visitor, Depends(form_starter)],
    name: str,
    run_id: str,
) -> Response:
    """Start what recovers the run, and say what was started."""
    return _continued(request, views, visitor, Act.RECOVER, name, run_id)


@router.get("/definitions/{name}/runs/{run_id}/take-over")
def take_over_form(request: Request, views: ViewsDep, visitor: VisitorDep, name: str, run_id: str) -> Response:
    """What taking a run over means, to be confirmed. Raises Refused where no owner holds it now."""
    return _confirm(request, views, visitor, Act.TAKE_OVER, views.run(name, run_id))


@router.post("/definitions/{name}/runs/{run_id}/take-over", dependencies=[Depends(form_changer)])
def take_over(
    request: Request,
    views: ViewsDep,
    visitor: Annotated[Visitor, Depends(form_starter)],
    name: str,
    run_id: str,
) -> Response:
    """Start what takes the run over, and say what was started."""
    return _continued(request, views, visitor, Act.TAKE_OVER, name, run_id)


def _confirm(request: Request, views: Views, visitor: Visitor, act: Act, found: RunDetail) -> Response:
    """The form of something that starts a refresh."""
    views.request_for(found.name, found.run_id, act)
    [offer] = [one for one in found.offers if one.act is act]
    allowed = allowed_acts(request, visitor, found.name)
    return render(request, "continue.html", {"found": found, "offer": offer, "allowed": allowed}, visitor=visitor)


def _continued(request: Request, views: Views, visitor: Visitor, act: Act, name: str, run_id: str) -> Response:
    return _started(request, visitor, continue_run(request, views, visitor, name, run_id, act))


def _started(request: Request, visitor: Visitor, found: RequestedRefresh) -> Response:
    return render(request, "started.html", {"name": found.name, "found": found}, visitor=visitor)


@router.get("/definitions/{name}/runs/{run_id}/cancel")
def cancel_form(
    request: Request, views: ViewsDep, visitor: VisitorDep, name: str, run_id: str, abandon: bool = False
) -> Response:
    """What cancelling a run means, to be confirmed; `abandon`: that it is to be abandoned is chosen already."""
    found = views.run(name, run_id)
    values = {"found": found, "abandon": abandon, "changeable": may_change(request, visitor, name)}
    return render(request, "cancel.html", values, visitor=visitor)


@router.post("/definitions/{name}/runs/{run_id}/cancel")
def cancel(
    request: Request,
    views: ViewsDep,
    visitor: Annotated[Visitor, Depends(form_changer)],
    name: str,
    run_id: str,
    abandon: Annotated[bool, Form()] = False,
) -> Response:
    """Cancel the run, and show it."""
    views.cancel(name, run_id, abandon=abandon, by=visitor.name)
    root = request.scope.get("root_path", "").rstrip("/")
    return RedirectResponse(f"{root}/definitions/{name}/runs/{run_id}", 303)


@router.post("/definitions/{name}/queue/{request_id}/remove", dependencies=[Depends(form_changer)])
def unqueue(request: Request, views: ViewsDep, name: str, request_id: str) -> Response:
    """Remove a request that waits, and show the definition."""
    views.unqueue(name, request_id)
    root = request.scope.get("root_path", "").rstrip("/")
    return RedirectResponse(f"{root}/definitions/{name}", 303)
