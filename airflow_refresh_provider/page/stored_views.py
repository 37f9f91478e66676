"""Views of the refreshes of a control root."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from airflow_refresh_provider.core.run.admin_results import Recovery
from airflow_refresh_provider.core.run.costs import CostsReport
from airflow_refresh_provider.core.run.notice import Notice
from airflow_refresh_provider.core.run.overview import DefinitionDetail, Filter, Overview, counts_of, urgent_first
from airflow_refresh_provider.core.run.queue import Placed, Unqueued, WaitingRequest
from airflow_refresh_provider.core.run.record import Run
from airflow_refresh_provider.core.run.reports import DefinitionStatus
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.run_detail import RunDetail
from airflow_refresh_provider.core.run.steering import Act
from airflow_refresh_provider.page.lookout import Lookout, in_background
from airflow_refresh_provider.page.ports import Notices, no_notices
from airflow_refresh_provider.runner.admin import queueing
from airflow_refresh_provider.runner.admin.cancelling import request_cancel
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.runner.report.definition_details import definition_detail
from airflow_refresh_provider.runner.report.observation import look
from airflow_refresh_provider.runner.report.overview import overview
from airflow_refresh_provider.runner.report.run_details import run_detail
from airflow_refresh_provider.runner.steps.busy import in_the_way, request_for


class StoredViews:
    """Views of one control root, which keep what they have seen. `notices` says what is wrong around them."""

    def __init__(
        self,
        refreshes: Refreshes,
        notices: Notices = no_notices,
        start: Callable[[Callable[[], None]], None] = in_background,
    ) -> None:
        self._refreshes = refreshes
        self._ports = refreshes.ports
        self._notices = notices
        self._lookout = Lookout(partial(look, self._ports), self._ports.clock, start)

    def overview(self, wanted: Filter, skip: int, limit: int) -> Overview:
        """All definitions: each control table is read once."""
        store = self._ports.store
        records = store.records()
        statuses = urgent_first(overview(self._ports, records, self._lookout.seen(records)))
        matching = [one for one in statuses if wanted.has(one)]
        return Overview(
            at=self._ports.clock.now(),
            control_root=store.root,
            total=len(statuses),
            matching=len(matching),
            counts=counts_of(statuses),
            tags=tuple(sorted({tag for one in statuses for tag in one.definition.tags})),
            owners=tuple(sorted({one.definition.owner for one in statuses if one.definition.owner})),
            notices=(*self._missing(), *self._notices()),
            definitions=tuple(matching[skip : skip + limit]),
        )

    def definition(self, name: str) -> DefinitionDetail:
        """One definition, looked at now; those around it as they were last seen."""
        return definition_detail(self._ports, name, self._lookout.known())

    def run(self, name: str, run_id: str) -> RunDetail:
        """One run."""
        return run_detail(self._ports, name, run_id)

    def run_of(self, name: str, origin: str) -> str | None:
        """The run in progress, or the last one that was published, if it is for this origin."""
        return self._refreshes.run_of(name, origin)

    def costs(self, days: int) -> CostsReport:
        """What the runs have cost that ended in the last days."""
        return self._refreshes.costs_report(days)

    def pause(self, name: str) -> DefinitionStatus:
        """Pause a definition before its next chunk."""
        return self._refreshes.pause(name)

    def resume(self, name: str) -> DefinitionStatus:
        """End a pause or a suspension."""
        return self._refreshes.resume(name)

    def suspend(self, name: str, why: str) -> DefinitionStatus:
        """Start no refresh until it is resumed."""
        return self._refreshes.suspend(name, why)

    def throttle(self, name: str, rows_per_second: int | None) -> DefinitionStatus:
        """Limit the rate of runs from the next chunk on."""
        return self._refreshes.throttle(name, rows_per_second)

    def cancel(self, name: str, run_id: str, *, abandon: bool, by: str) -> Recovery:
        """Cancel this run alone. It is abandoned, if it is to be, by its owner or by the next run: not here."""
        return request_cancel(self._ports, name, run_id, abandon=abandon, by=by)

    def in_the_way(self, name: str) -> Run | None:
        """The run that another owner holds. Raises Refused where the definition is suspended or dropped, Paused."""
        return in_the_way(self._ports, name, self._ports.store.read(name).record)

    def queue(self, name: str | None) -> list[WaitingRequest]:
        """The requests that wait, of one definition or of all."""
        return self._refreshes.queue(name)

    def enqueue(self, name: str, request: Request, by: str) -> Placed | None:
        """Let a request wait for the run in progress; None where it has ended."""
        return queueing.add(self._ports, name, request, by)

    def unqueue(self, name: str, request_id: str) -> Unqueued:
        """Remove a request from the queue."""
        return self._refreshes.unqueue(name, request_id)

    def request_for(self, name: str, run_id: str, act: Act) -> Request:
        """The refresh that recovers this run or takes it over. Raises Refused where it has ended or changed."""
        return request_for(self._ports, name, run_id, act)

    def _missing(self) -> tuple[Notice, ...]:
        if self._ports.store.exists:
            return ()
        message = f"there are no control tables in {self._ports.store.root}: registering a definition creates them"
        return (Notice(code="no_control_tables", message=message),)
