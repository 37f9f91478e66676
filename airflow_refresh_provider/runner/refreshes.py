"""The entry point: everything that a command line, an operator or a script can request.

Each method raises errors.* and leaves nothing half made; what it returns is a model of `core.run.results`.
"""

from __future__ import annotations

from collections.abc import Sequence

from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.run.admin_results import Dropped, Rebuilt, Recovery, Registration
from airflow_refresh_provider.core.run.reports import DefinitionStatus, DueReport, Freshness, ProgressReport, Readable
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import CascadeResult, Differences, HistoryEntry, RunResult
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.runner.admin import cascades, dropping, pausing, rebuilding, recovering, registry
from airflow_refresh_provider.runner.facts.records import registered
from airflow_refresh_provider.runner.facts.stopwatch import Stopwatch
from airflow_refresh_provider.runner.report import comparison, due_report, freshness, reports
from airflow_refresh_provider.runner.steps.one_process import refresh
from airflow_refresh_provider.runner.steps.run_results import nothing_to_do
from airflow_refresh_provider.runner.steps.start import up_to_date


class Refreshes:
    """All definitions of one control root."""

    def __init__(self, ports: Ports) -> None:
        self.ports = ports

    def register(self, definition: Definition) -> Registration:
        """Store a definition, new or changed."""
        return registry.register(self.ports, definition)

    def statuses(self) -> list[DefinitionStatus]:
        """Every registered definition, by name."""
        return [registry.status(self.ports, record) for record in self.ports.store.records()]

    def show(self, name: str) -> DefinitionStatus:
        """One definition."""
        return registry.shown(self.ports, registered(self.ports, name, self.ports.store.read(name).record))

    def published(self, name: str) -> Readable:
        """How to read the last refresh of a definition. Raises Failed where there is none that could be read."""
        return registry.published(self.ports, registered(self.ports, name, self.ports.store.read(name).record))

    def run(self, name: str, request: Request) -> RunResult:
        """One refresh; an interrupted run is finished first, or instead."""
        return refresh(self.ports, name, request)

    def cascade(self, names: Sequence[str], request: Request) -> CascadeResult:
        """Definitions and those upstream refreshed in order, at one set of versions of the outer inputs."""
        return cascades.cascade(self.ports, names, request)

    def not_needed(self, name: str, request: Request) -> RunResult | None:
        """The result of a refresh that would do nothing now, None when it may have something to do. Needs no Spark."""
        found = up_to_date(self.ports, name, request)
        return nothing_to_do(found.record, found.reason, Stopwatch(self.ports.clock)) if found else None

    def compare_only(self, name: str, samples: int = 10) -> Differences:
        """How target and query differ now. Nothing is written but a change set in staging, dropped at the end."""
        return comparison.compare_only(self.ports, name, samples)

    def due(self, name: str) -> DueReport:
        """Whether a refresh is due now, and why or why not. Needs no Spark."""
        return due_report.report_due(self.ports, name)

    def freshness(self, name: str | None = None, *, why: bool = False) -> list[Freshness]:
        """How far targets are behind, of one definition or of all; `why` adds each input. Needs no Spark.

        Of all, each has its own error; of one it is raised.
        """
        if name is not None:
            return [
                freshness.freshness(
                    self.ports, registered(self.ports, name, self.ports.store.read(name).record), why=why
                )
            ]
        return [freshness.freshness_or_error(self.ports, record, why=why) for record in self.ports.store.records()]

    def pause(self, name: str) -> DefinitionStatus:
        """Pause a definition before its next chunk."""
        return pausing.pause(self.ports, name)

    def suspend(self, name: str, why: str) -> DefinitionStatus:
        """Start no refresh of a definition until it is resumed."""
        return pausing.suspend(self.ports, name, why)

    def resume(self, name: str) -> DefinitionStatus:
        """End a pause or a suspension; an unfinished run waits for the next caller."""
        return pausing.resume(self.ports, name)

    def progress(self, name: str) -> ProgressReport:
        """The run in progress, else the last one."""
        return reports.progress(self.ports, name)

    def history(self, name: str) -> list[HistoryEntry]:
        """Ended runs, newest first."""
        return reports.history(self.ports, name)

    def published_for(self, name: str, origin: str) -> RunResult | None:
        """The result of the newest published refresh, if it was made for this origin."""
        return reports.published_for(self.ports, name, origin)

    def recover(self, name: str | None = None) -> list[Recovery]:
        """Finish or abandon every interrupted run, of one definition or of all."""
        return recovering.recover(self.ports, name)

    def rebuild_progress(self, name: str) -> Rebuilt:
        """Restore from the target's log where the last refresh ended, and the progress of the newest run."""
        return rebuilding.rebuild(self.ports, name)

    def drop(self, name: str, *, delete_target: bool = False, stop: bool = False) -> Dropped:
        """Remove a definition; the target stays unless its deletion is requested.

        A run in progress is stopped with `stop`; without it the drop is refused.
        """
        return dropping.drop(self.ports, name, delete_target=delete_target, stop=stop)
