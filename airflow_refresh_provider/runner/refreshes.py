"""The entry point: everything that a command line, an operator or a script can request.

Each method raises errors.* and leaves nothing half made; what it returns is a model of `core.run.results`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from functools import partial

from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.definition.selection import Selection, selected
from airflow_refresh_provider.core.run.admin_results import Dropped, Rebuilt, Recovery, Registration
from airflow_refresh_provider.core.run.alert import Alert
from airflow_refresh_provider.core.run.costs import Cost, CostsBy, CostsReport, costs, report
from airflow_refresh_provider.core.run.explanation import Explanation
from airflow_refresh_provider.core.run.queue import Unqueued, WaitingRequest
from airflow_refresh_provider.core.run.reading import ReadingLine
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.core.run.reported import Reported
from airflow_refresh_provider.core.run.reports import DefinitionStatus, DueReport, Freshness, ProgressReport, Readable
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import Differences, HistoryEntry, RefreshesResult, RunResult
from airflow_refresh_provider.core.timing.cascade import summary_of
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.read_once import reading_once
from airflow_refresh_provider.runner.admin import (
    cancelling,
    cascades,
    dropping,
    pausing,
    queueing,
    rebuilding,
    recovering,
    registry,
    several,
)
from airflow_refresh_provider.runner.facts.records import registered
from airflow_refresh_provider.runner.facts.stopwatch import Stopwatch
from airflow_refresh_provider.runner.report import (
    alerting,
    comparison,
    due_report,
    explaining,
    freshness,
    reading,
    reports,
    statuses,
)
from airflow_refresh_provider.runner.report.changed_upstream import ChangedUpstream
from airflow_refresh_provider.runner.report.observation import for_each, observe
from airflow_refresh_provider.runner.steps.one_process import refresh
from airflow_refresh_provider.runner.steps.run_results import not_started
from airflow_refresh_provider.runner.steps.start import up_to_date


class Refreshes:
    """All definitions of one control root."""

    def __init__(self, ports: Ports) -> None:
        self.ports = ports

    def register(self, definition: Definition) -> Registration:
        """Store a definition, new or changed."""
        return registry.register(self.ports, definition)

    def statuses(self) -> list[DefinitionStatus]:
        """Every registered definition, by name. Needs no Spark."""
        return for_each(partial(statuses.status, self.ports), self.ports.store.records())

    def show(self, name: str) -> DefinitionStatus:
        """One definition, with notices on its query. Needs no Spark."""
        return statuses.with_notices(self.ports, self._record(name))

    def stored(self, name: str) -> DefinitionStatus:
        """One definition as the control tables say; neither inputs nor target are read."""
        return statuses.stored_status(self.ports, self._record(name))

    def knows(self, name: str) -> bool:
        """Whether a definition is registered. Reads the control tables alone."""
        record = self.ports.store.read(name).record
        return record is not None and not record.dropped

    def reading(self, name: str) -> tuple[ReadingLine, ...]:
        """The lines with which other programs read what is published; none where nothing is."""
        return reading.lines(self.ports, self._record(name))

    def published(self, name: str) -> Readable:
        """How to read the last refresh of a definition. Raises Failed where there is none that could be read."""
        return registry.published(self.ports, self._record(name))

    def explain(self, name: str) -> Explanation:
        """Whose changes a definition follows, how, and what its next refresh would do. Needs no Spark."""
        once = reading_once(self.ports)
        return explaining.explain(once, ChangedUpstream(once), self._record(name))

    def explain_several(self, selection: Selection) -> list[Explanation]:
        """As `explain` for several definitions, each with its own error."""
        once = reading_once(self.ports)
        return for_each(partial(explaining.explain, once, ChangedUpstream(once)), self._selected(selection))

    def explain_definition(self, definition: Definition) -> Explanation:
        """As `explain` for a definition that need not be registered, without its next refresh."""
        return explaining.explain_definition(self.ports, definition)

    def run(self, name: str, request: Request) -> RunResult:
        """One refresh; an interrupted run is finished first, or instead."""
        return refresh(self.ports, name, request)

    def run_several(self, selection: Selection, request: Request, *, due: bool = False) -> RefreshesResult:
        """Refreshes of several definitions, `request.workers` at a time; with `due` of those that are due now.

        Raises Invalid where the selection has none; the error of a refresh is in its step.
        """
        chosen = [record.definition for record in self._selected(selection)]
        return several.refresh_several(self.ports, chosen, request, due=due)

    def cascade(self, names: Sequence[str], request: Request) -> RefreshesResult:
        """Definitions and those upstream refreshed in order, at one set of versions of the outer inputs."""
        return cascades.cascade(self.ports, names, request)

    def not_needed(self, name: str, request: Request) -> RunResult | None:
        """The result of a refresh that would do nothing now, None when it may have something to do. Needs no Spark."""
        found = up_to_date(self.ports, name, request)
        return not_started(found, Stopwatch(self.ports.clock)) if found else None

    def compare_only(self, name: str, samples: int = 10) -> Differences:
        """How target and query differ now. Nothing is written but a change set in staging, dropped at the end."""
        return comparison.compare_only(self.ports, name, samples)

    def due(self, name: str) -> DueReport:
        """Whether a refresh is due now, and why or why not. Needs no Spark."""
        return due_report.report_due(self.ports, observe(self.ports, self._record(name)))

    def due_several(self, selection: Selection) -> list[DueReport]:
        """As `due` for several definitions, each with its own error."""
        return for_each(partial(due_report.due_or_error, self.ports), self._selected(selection))

    def freshness_several(self, selection: Selection, *, why: bool = False) -> list[Freshness]:
        """As `freshness` for several definitions, each with its own error."""
        return for_each(partial(freshness.report_freshness, self.ports, why=why), self._selected(selection))

    def freshness(self, name: str, *, why: bool = False) -> list[Freshness]:
        """How far the target of a definition is behind; `why` adds each input. Needs no Spark."""
        seen = observe(self.ports, self._record(name))
        seen.must_be_readable()
        found = freshness.freshness(self.ports, seen, why=why)
        return [freshness.with_expected_seconds(found, reports.newest(self.ports, name))]

    def pause(self, name: str) -> DefinitionStatus:
        """Pause a definition before its next chunk."""
        return pausing.pause(self.ports, name)

    def suspend(self, name: str, why: str) -> DefinitionStatus:
        """Start no refresh of a definition until it is resumed."""
        return pausing.suspend(self.ports, name, why)

    def throttle(self, name: str, rows_per_second: int | None) -> DefinitionStatus:
        """Limit the rate of runs from the next chunk on; 0 is without a limit, None as the definition says."""
        return pausing.throttle(self.ports, name, rows_per_second)

    def resume(self, name: str) -> DefinitionStatus:
        """End a pause or a suspension; an unfinished run waits for the next caller."""
        return pausing.resume(self.ports, name)

    def cancel(self, name: str, *, run_id: str | None = None, abandon: bool = False, by: str | None = None) -> Recovery:
        """End the run in progress, or only the run of this id: its statement in Spark is interrupted within seconds.

        The next refresh resumes it; with `abandon` it is abandoned instead. Raises Refused where it has ended already.
        """
        return cancelling.cancel(self.ports, name, run_id, abandon=abandon, by=by)

    def queue(self, name: str | None = None) -> list[WaitingRequest]:
        """The requests that wait for a run to end, of one definition or of all, the next one first."""
        return queueing.waiting(self.ports, name)

    def unqueue(self, name: str, request_id: str) -> Unqueued:
        """Remove a request from the queue. Raises Refused where it waits no longer, as its run was started."""
        return queueing.remove(self.ports, name, request_id)

    def run_waiting(self, name: str, workers: int = 2, *, wait: bool = False) -> RefreshesResult:
        """Refresh for the requests that wait, one after the other; `wait`: until no other owner holds the run."""
        return summary_of(queueing.run_waiting(self.ports, name, workers, wait=wait))

    def progress(self, name: str) -> ProgressReport:
        """The run in progress, else the last one."""
        return reports.progress(self.ports, name)

    def history(self, name: str) -> list[HistoryEntry]:
        """Ended runs, newest first."""
        return reports.history(self.ports, name)

    def history_several(self, selection: Selection) -> list[HistoryEntry]:
        """Ended runs of several definitions, newest first."""
        found = for_each(lambda record: self.history(record.name), self._selected(selection))
        return sorted((entry for entries in found for entry in entries), key=lambda e: e.at, reverse=True)

    def alerts(self, selection: Selection, retention_below: timedelta) -> tuple[Alert, ...]:
        """What a person has to know of several definitions now. Needs no Spark."""
        return alerting.alerts(self.ports, self._selected(selection), retention_below)

    def new_alerts(
        self, selection: Selection, before: Reported, retention_below: timedelta, repeat_after: timedelta
    ) -> tuple[tuple[Alert, ...], Reported]:
        """What is new of it since others were reported, and what has been reported then."""
        records = self._selected(selection)
        return alerting.new_alerts(self.ports, records, before, retention_below, repeat_after)

    def costs(self, selection: Selection, by: CostsBy, days: int) -> list[Cost]:
        """What runs of several definitions have cost that ended in the last days."""
        tags = {record.name: record.definition.tags for record in self._selected(selection)}
        return costs(reports.costs_since(self.ports, tags, self.ports.clock.now() - timedelta(days=days)), by, tags)

    def costs_report(self, days: int) -> CostsReport:
        """What runs of all definitions have cost that ended in the last days, in one read of the history."""
        now = self.ports.clock.now()
        tags = {record.name: record.definition.tags for record in self.ports.store.records()}
        return report(reports.costs_since(self.ports, tags, now - timedelta(days=days)), tags, now, days)

    def published_for(self, name: str, origin: str) -> RunResult | None:
        """The result of the newest published refresh, if it was made for this origin."""
        return reports.published_for(self.ports, name, origin)

    def run_of(self, name: str, origin: str) -> str | None:
        """The id of the run that is in progress for this origin, or was the last to be published for it."""
        return reports.run_of(self.ports, name, origin)

    def recover(self, name: str | None = None) -> list[Recovery]:
        """Finish or abandon every interrupted run, of one definition or of all."""
        return recovering.recover(self.ports, name)

    def abandon(self, name: str, *, stop: bool = False) -> Recovery:
        """End an unfinished run for good; the next refresh starts a new one. `stop`: also while an owner is running.

        A run that is complete in its target is published instead.
        """
        return recovering.abandon(self.ports, name, stop=stop)

    def rebuild_progress(self, name: str) -> Rebuilt:
        """Restore from the target's log where the last refresh ended, and the progress of the newest run."""
        return rebuilding.rebuild(self.ports, name)

    def drop(self, name: str, *, delete_target: bool = False, stop: bool = False) -> Dropped:
        """Remove a definition; the target stays unless its deletion is requested.

        A run in progress is stopped with `stop`; without it the drop is refused.
        """
        return dropping.drop(self.ports, name, delete_target=delete_target, stop=stop)

    def _record(self, name: str) -> Record:
        return registered(self.ports, name, self.ports.store.read(name).record)

    def _selected(self, selection: Selection) -> list[Record]:
        records = {record.name: record for record in self.ports.store.records()}
        definitions = [record.definition for record in records.values()]
        chosen = selected(selection, definitions, where=f" in {self.ports.store.root}")
        return [records[definition.name] for definition in chosen]
