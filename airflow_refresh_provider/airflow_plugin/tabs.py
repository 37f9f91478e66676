"""What the tabs of a DAG and of a DAG run show: the page of its definition, of its run, or which ones there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from airflow_refresh_provider.airflow_plugin.dags import Refreshing, Said, refreshing, said
from airflow_refresh_provider.airflow_plugin.gate import may_see
from airflow_refresh_provider.errors import Invalid
from airflow_refresh_provider.hooks.addresses import definition_path, run_path
from airflow_refresh_provider.hooks.refresh_hook import RefreshHook
from airflow_refresh_provider.page.api import ViewsDep
from airflow_refresh_provider.page.guard import reader
from airflow_refresh_provider.page.ports import Views, Visitor
from airflow_refresh_provider.page.templating import render
from airflow_refresh_provider.task_context.binding import origin_of


@dataclass(frozen=True)
class Shown:
    """A definition of a DAG: the paths of its page and, if there is one, of its run; `elsewhere`: a connection to
    control tables that the page does not read.
    """

    name: str
    path: str
    run: str | None = None
    elsewhere: str | None = None


def of_dag(dag_id: str, visitor: Annotated[Visitor, Depends(reader)]) -> Refreshing:
    """What a DAG refreshes. Raises HTTPException 403 for a user who may not see it."""
    if not may_see(visitor, dag_id):
        raise HTTPException(403, f"you may not see the DAG {dag_id}")
    return refreshing(dag_id)


router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
VisitorDep = Annotated[Visitor, Depends(reader)]
OfDag = Annotated[Refreshing, Depends(of_dag)]


@router.get("/dags/{dag_id}")
def dag(request: Request, visitor: VisitorDep, dag_id: str, found: OfDag) -> Response:
    """The definition of a DAG, or all of several."""
    shown = [_shown(name, conn_id, None) for name, conn_id in found.definitions.items()]
    if len(shown) == 1 and not found.mapped and not shown[0].elsewhere:
        return _to(request, shown[0].path)
    values: dict[str, Any] = {"dag_id": dag_id, "run_id": None, "shown": shown, "mapped": found.mapped, "notes": {}}
    return render(request, "dag.html", values, visitor=visitor)


@router.get("/dags/{dag_id}/runs/{run_id}")
def dag_run(
    request: Request,
    views: ViewsDep,
    visitor: VisitorDep,
    dag_id: str,
    run_id: str,
    found: OfDag,
    definition: str | None = None,
) -> Response:
    """The run that a DAG run has made, of the definition if one is given, or all of several."""
    heard = said(dag_id, run_id, found.tasks)
    every = found.definitions | dict.fromkeys(heard.runs.keys() - found.definitions, RefreshHook.default_conn_name)
    wanted = {name: conn_id for name, conn_id in every.items() if definition in (None, name)}
    origin = origin_of(dag_id, run_id)
    shown = [_shown(name, conn_id, _run(views, name, origin, heard)) for name, conn_id in wanted.items()]
    if len(shown) == 1 and shown[0].run and not shown[0].elsewhere:
        return _to(request, shown[0].run)
    values: dict[str, Any] = {
        "dag_id": dag_id,
        "run_id": run_id,
        "shown": shown,
        "mapped": found.mapped,
        "notes": heard.notes,
    }
    return render(request, "dag.html", values, visitor=visitor)


def _shown(name: str, conn_id: str, run_id: str | None) -> Shown:
    elsewhere = conn_id if conn_id != RefreshHook.default_conn_name else None
    return Shown(name, definition_path(name), run_path(name, run_id) if run_id else None, elsewhere)


def _run(views: Views, name: str, origin: str, heard: Said) -> str | None:
    """The run of a definition: as the control tables say, which are newer than what a task has returned."""
    try:
        return views.run_of(name, origin) or heard.runs.get(name)
    except Invalid as error:
        if error.code != "unknown_name":
            raise
        return heard.runs.get(name)


def _to(request: Request, path: str) -> Response:
    root = request.scope.get("root_path", "").rstrip("/")
    return RedirectResponse(f"{root}/{path}", 303)
