"""A refresh that is started from the page: its options, from a form or as JSON, and what may stand in its way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import fastapi

from airflow_refresh_provider.core.run.admin_results import RequestedRefresh
from airflow_refresh_provider.core.run.options import from_values, user_options
from airflow_refresh_provider.core.run.record import Run
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.steering import Act
from airflow_refresh_provider.core.text.wording import suggestion
from airflow_refresh_provider.errors import Invalid
from airflow_refresh_provider.page.ports import Starter, Views, Visitor

PRIORITY = next(option for option in user_options(Request) if option.name == "priority")
"""An option of a refresh that waits in the queue."""

OPTIONS = tuple(option for option in user_options(Request) if option.scope is None)
"""Those of the trigger form of a DAG."""


def start(
    request: fastapi.Request, views: Views, visitor: Visitor, name: str, given: Mapping[str, Any]
) -> RequestedRefresh:
    """Start a refresh, or let it wait for the run in progress. Raises Invalid for a wrong option, Refused where no
    refresh may start.
    """
    wanted = requested(given)
    starter: Starter = request.app.state.starter
    if waits_in_queue(request, views, name):
        placed = views.enqueue(name, wanted, visitor.name)
        if placed is not None:
            one, place = placed.request, 1 + placed.queue.index(placed.request)
            how = f"the equal request {one.id} of {one.by}" if placed.merged else f"request {one.id}"
            waits = f"for the run in progress, as number {place} of {len(placed.queue)}; {starter.follow(name)}"
            return RequestedRefresh(name=name, started=how, waits=waits, request_id=one.id)
    return starter.start(visitor, name, wanted)


def continue_run(
    request: fastapi.Request, views: Views, visitor: Visitor, name: str, run_id: str, act: Act
) -> RequestedRefresh:
    """Start the refresh that recovers a run or takes it over, and no other one. Raises Refused for a lost race."""
    wanted = views.request_for(name, run_id, act)
    starter: Starter = request.app.state.starter
    return starter.start(visitor, name, wanted)


def waits_in_queue(request: fastapi.Request, views: Views, name: str) -> Run | None:
    """The run in progress that a refresh would wait for in the queue. Raises Refused where no refresh may start."""
    starter: Starter = request.app.state.starter
    run = views.in_the_way(name)
    return None if run is None or starter.waits_for(name, run) else run


def requested(given: Mapping[str, Any]) -> Request:
    """The request that the options say. Raises Invalid."""
    names = [option.name for option in (*OPTIONS, PRIORITY)]
    if unknown := sorted(given.keys() - set(names)):
        raise Invalid(
            "unknown_parameter",
            f"{', '.join(unknown)}: not an option of a refresh.{suggestion(unknown[0], names)}",
            next=f"Give some of {', '.join(names)}.",
        )
    return from_values(Request, given)
