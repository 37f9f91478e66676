"""What the page needs: views of refreshes, and to know who may see and change them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from airflow_refresh_provider.core.run.admin_results import Recovery, RequestedRefresh
from airflow_refresh_provider.core.run.costs import CostsReport
from airflow_refresh_provider.core.run.notice import Notice
from airflow_refresh_provider.core.run.overview import DefinitionDetail, Filter, Overview
from airflow_refresh_provider.core.run.queue import Placed, Unqueued, WaitingRequest
from airflow_refresh_provider.core.run.record import Run
from airflow_refresh_provider.core.run.reports import DefinitionStatus
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import ErrorReport
from airflow_refresh_provider.core.run.run_detail import RunDetail
from airflow_refresh_provider.core.run.steering import Act


class Views(Protocol):
    """What is shown, and the changes that a page can make. Every method raises errors.RefreshError."""

    def overview(self, wanted: Filter, skip: int, limit: int) -> Overview:
        """All definitions, and up to `limit` of those that are wanted, after `skip` of them."""
        ...

    def definition(self, name: str) -> DefinitionDetail: ...

    def run(self, name: str, run_id: str) -> RunDetail: ...

    def run_of(self, name: str, origin: str) -> str | None:
        """The id of the run that is in progress for an origin, or was the last to be published for it."""
        ...

    def costs(self, days: int) -> CostsReport:
        """What the runs have cost that ended in the last days."""
        ...

    def pause(self, name: str) -> DefinitionStatus: ...

    def resume(self, name: str) -> DefinitionStatus: ...

    def suspend(self, name: str, why: str) -> DefinitionStatus: ...

    def throttle(self, name: str, rows_per_second: int | None) -> DefinitionStatus:
        """0 is without a limit, None as the definition says."""
        ...

    def cancel(self, name: str, run_id: str, *, abandon: bool, by: str) -> Recovery:
        """Cancel this run alone. Raises Refused where it has ended meanwhile."""
        ...

    def in_the_way(self, name: str) -> Run | None:
        """The run that a refresh would wait for that starts now. Raises Refused where it would be refused otherwise."""
        ...

    def queue(self, name: str | None) -> list[WaitingRequest]:
        """The requests that wait, of one definition or of all."""
        ...

    def enqueue(self, name: str, request: Request, by: str) -> Placed | None:
        """Let a request wait for the run in progress; None where it has ended."""
        ...

    def unqueue(self, name: str, request_id: str) -> Unqueued:
        """Remove a request. Raises Refused where it waits no longer."""
        ...

    def request_for(self, name: str, run_id: str, act: Act) -> Request:
        """The refresh that recovers this run or takes it over. Raises Refused where it has ended or changed."""
        ...


@dataclass(frozen=True)
class Visitor:
    """Who asks. `token`: what a change has to bring along to prove that it comes from this page; None for a caller that
    proves itself with each request, as no other site can make a browser do.
    """

    name: str
    token: str | None
    user: object = None


class Gate(Protocol):
    """Who may see and change what."""

    @property
    def visitor(self) -> Callable[..., Visitor | Awaitable[Visitor]]:
        """A dependency of FastAPI that says who asks. Raises HTTPException 401 where that is not known, 403 where it is
        not believed.
        """
        ...

    def may_read(self, visitor: Visitor) -> bool: ...

    def may_change(self, visitor: Visitor, name: str) -> bool:
        """Whether a definition may be changed; it need not exist."""
        ...


class Starter(Protocol):
    """Starts refreshes outside of the process that serves the page."""

    def may_start(self, visitor: Visitor, name: str) -> bool: ...

    def start(self, visitor: Visitor, name: str, request: Request) -> RequestedRefresh:
        """Start a refresh. Raises errors.RefreshError."""
        ...

    def waits_for(self, name: str, run: Run) -> bool:
        """Whether what it starts waits for the end of this run by itself."""
        ...

    def follow(self, name: str) -> str:
        """See to it, as far as possible from here, that what waits in the queue is refreshed after the run in progress.

        Returns by what, for people.
        """
        ...

    def failure(self, name: str) -> ErrorReport | None:
        """Why the last refresh that was started from here ended with an error; None where only its run says so."""
        ...


Notices = Callable[[], tuple[Notice, ...]]
"""What is wrong around the refreshes, such as a trigger process that is down."""


def no_notices() -> tuple[Notice, ...]:
    """Nothing is known of what surrounds the refreshes."""
    return ()
