"""Commands on runs: run, cascade, progress, pause, suspend, resume, due, freshness, history, recover, abandon."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_refresh_provider.cli.call import Call
from airflow_refresh_provider.core.run.admin_results import Rebuilt, Recovery
from airflow_refresh_provider.core.run.reports import DefinitionStatus, DueReport, Freshness, ProgressReport
from airflow_refresh_provider.core.run.request import Request, RunRequest
from airflow_refresh_provider.core.run.results import CascadeResult, Differences, HistoryEntry, RunResult

if TYPE_CHECKING:
    from airflow_refresh_provider.ports.watch import Watch
    from airflow_refresh_provider.runner.refreshes import Refreshes

_FOLLOW_SECONDS = 1.0
_MISSED = "changes made while it was suspended are applied within the hour, or at once by a manual run"


def run(call: Call, name: str, request: RunRequest) -> RunResult | Differences:
    """One refresh, or only the comparison."""
    refreshes = call.refreshes()
    return refreshes.compare_only(name) if request.compare_only else refreshes.run(name, request)


def cascade(call: Call, name: list[str], request: Request) -> CascadeResult:
    """Refreshes of definitions that read each other's targets."""
    return call.refreshes().cascade(name, request)


def progress(call: Call, name: str, follow: bool) -> ProgressReport:
    """The progress of the current run, or of the last one; `follow` waits until no process holds the run."""
    refreshes = call.refreshes()
    seen: ProgressReport | None = None
    while follow and _live(refreshes, name):
        before, seen = seen, refreshes.progress(name)
        _advance(call.watch, before, seen)
        refreshes.ports.clock.sleep(_FOLLOW_SECONDS)
    return refreshes.progress(name)


def pause(call: Call, name: str) -> DefinitionStatus:
    """Pause a definition before its next chunk."""
    return call.refreshes().pause(name)


def suspend(call: Call, name: str, why: str) -> DefinitionStatus:
    """Start no refresh until the definition is resumed."""
    return call.refreshes().suspend(name, why)


def resume(call: Call, name: str) -> DefinitionStatus:
    """End a pause or a suspension, and note when missed commits are applied."""
    refreshes = call.refreshes()
    suspended = refreshes.show(name).suspended
    found = refreshes.resume(name)
    if suspended and found.definition.refresh.on_change:
        call.watch.note(_MISSED)
    return found


def history(call: Call, name: str) -> list[HistoryEntry]:
    """The ended runs of a definition."""
    return call.refreshes().history(name)


def recover(call: Call, name: str | None) -> list[Recovery]:
    """Resume or abandon interrupted runs, of one definition or of all."""
    refreshes = call.refreshes()
    found = refreshes.recover(name)
    call.note_if_none(refreshes, found)
    return found


def abandon(call: Call, name: str, stop: bool) -> Recovery:
    """End an unfinished run for good."""
    return call.refreshes().abandon(name, stop=stop)


def rebuild_progress(call: Call, name: str) -> Rebuilt:
    """Restore cursor and progress from the target's log."""
    return call.refreshes().rebuild_progress(name)


def _advance(watch: Watch, before: ProgressReport | None, now: ProgressReport) -> None:
    """Report the progress between two reads; the first read counts from the start."""
    if now.stage is None:
        return
    if before is None or (before.stage, before.rows_total) != (now.stage, now.rows_total):
        watch.stage(now.stage, now.rows_total, now.chunks_total)
        watch.advance(now.rows_done, now.chunks_done)
    else:
        watch.advance(now.rows_done - before.rows_done, now.chunks_done - before.chunks_done)


def _live(refreshes: Refreshes, name: str) -> bool:
    run = refreshes.show(name).run
    return run is not None and run.live


def due(call: Call, name: str) -> DueReport:
    """Whether a refresh is due now."""
    return call.refreshes().due(name)


def freshness(call: Call, name: str | None, why: bool) -> list[Freshness]:
    """How far targets are behind their inputs; with `why` by input."""
    refreshes = call.refreshes()
    found = refreshes.freshness(name, why=why)
    call.note_if_none(refreshes, found)
    return found
