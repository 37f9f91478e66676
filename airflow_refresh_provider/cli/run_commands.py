"""Commands on runs: start, follow, steer and recover them, and whether and how they are due."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_refresh_provider.cli.call import Call
from airflow_refresh_provider.core.definition.selection import Selection
from airflow_refresh_provider.core.run.admin_results import Rebuilt, Recovery
from airflow_refresh_provider.core.run.costs import Cost, CostsBy
from airflow_refresh_provider.core.run.queue import Unqueued, WaitingRequest
from airflow_refresh_provider.core.run.reports import DefinitionStatus, DueReport, Freshness, ProgressReport
from airflow_refresh_provider.core.run.request import Request, RunRequest
from airflow_refresh_provider.core.run.results import Differences, HistoryEntry, Outcome, RefreshesResult, RunResult
from airflow_refresh_provider.core.run.throttle import MOST_ROWS
from airflow_refresh_provider.errors import Invalid

if TYPE_CHECKING:
    from airflow_refresh_provider.ports.watch import Watch
    from airflow_refresh_provider.runner.refreshes import Refreshes

_FOLLOW_SECONDS = 1.0
_MISSED = "changes made while it was suspended are applied within the hour, or at once by a manual run"


def run(
    call: Call, name: list[str], tag: list[str], all: bool, due: bool, queued: bool, request: RunRequest
) -> RunResult | Differences | RefreshesResult:
    """One refresh, or only the comparison; or several refreshes. What is queued meanwhile follows in this process."""
    selection = _selection(name, tag, every=all)
    refreshes = call.refreshes()
    one = None if due else selection.one
    if queued:
        return refreshes.run_waiting(_only(one, "--queued runs what waits for"), request.workers, wait=True)
    if one is None:
        if request.compare_only:
            _only(None, "--compare-only compares")
        return refreshes.run_several(selection, request, due=due)
    return refreshes.compare_only(one) if request.compare_only else _run_and_queue(call, refreshes, one, request)


def _run_and_queue(call: Call, refreshes: Refreshes, name: str, request: RunRequest) -> RunResult:
    """The result of one refresh; what has waited for its end is refreshed too, and noted."""
    result = refreshes.run(name, request)
    if result.outcome in (Outcome.SUCCEEDED, Outcome.NOTHING_TO_DO):
        for step in refreshes.run_waiting(name, request.workers).refreshes:
            call.watch.note(f"from the queue: {step.line}")
    return result


def queue(call: Call, name: str | None) -> list[WaitingRequest]:
    """The requests that wait, of one definition or of all."""
    return call.refreshes().queue(name)


def unqueue(call: Call, name: str, id: str) -> Unqueued:
    """Remove a request that waits."""
    return call.refreshes().unqueue(name, id)


def cascade(call: Call, name: list[str], request: Request) -> RefreshesResult:
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


def throttle(call: Call, name: str, rows_per_second: str | None, off: bool, as_defined: bool) -> DefinitionStatus:
    """Limit the rate of runs from the next chunk on."""
    if (rows_per_second is not None) + off + as_defined != 1:
        raise Invalid("usage", "throttle needs a rate", next="Give one of ROWS_PER_SECOND, --off and --as-defined.")
    if rows_per_second is None:
        return call.refreshes().throttle(name, 0 if off else None)
    return call.refreshes().throttle(name, _rate(rows_per_second))


def _rate(text: str) -> int:
    """Rows a second, of which thousands may be separated. Raises Invalid."""
    digits = text.replace(",", "").replace("_", "")
    if not (digits.isascii() and digits.isdecimal() and 0 < int(digits) <= MOST_ROWS):
        raise Invalid("usage", f"{text!r} is not a whole number of rows a second", next="Give one such as 50000.")
    return int(digits)


def resume(call: Call, name: str) -> DefinitionStatus:
    """End a pause or a suspension, and note when missed commits are applied."""
    refreshes = call.refreshes()
    suspended = refreshes.stored(name).suspended
    found = refreshes.resume(name)
    if suspended and found.definition.refresh.on_change:
        call.watch.note(_MISSED)
    return found


def cancel(call: Call, name: str, run: str | None, abandon: bool) -> Recovery:
    """End the run in progress."""
    return call.refreshes().cancel(name, run_id=run, abandon=abandon, by=call.environment.get("USER"))


def history(call: Call, name: list[str], tag: list[str], all: bool) -> list[HistoryEntry]:
    """The ended runs of one definition or of several."""
    selection = _selection(name, tag, every=all)
    refreshes = call.refreshes()
    return refreshes.history_several(selection) if selection.one is None else refreshes.history(selection.one)


def costs(call: Call, name: list[str], tag: list[str], all: bool, by: str, days: int) -> list[Cost]:
    """What ended runs have cost."""
    return call.refreshes().costs(_selection(name, tag, every=all), CostsBy(by), days)


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
    run = refreshes.stored(name).run
    return run is not None and run.live


def due(call: Call, name: list[str], tag: list[str], all: bool) -> DueReport | list[DueReport]:
    """Whether a refresh is due now."""
    selection = _selection(name, tag, every=all)
    refreshes = call.refreshes()
    return refreshes.due_several(selection) if selection.one is None else refreshes.due(selection.one)


def freshness(call: Call, name: list[str], tag: list[str], all: bool, why: bool) -> list[Freshness]:
    """How far targets are behind their inputs; with `why` by input."""
    selection = Selection(tuple(name), tuple(tag), every=all or not (name or tag))
    selection.check()
    refreshes = call.refreshes()
    if selection.one is not None:
        return refreshes.freshness(selection.one, why=why)
    found = refreshes.freshness_several(selection, why=why)
    call.note_if_none(refreshes, found)
    return found


def _only(name: str | None, does: str) -> str:
    """The one definition. Raises Invalid."""
    if name is None:
        raise Invalid("usage", f"{does} one definition", next="Name one definition.")
    return name


def _selection(names: list[str], tags: list[str], *, every: bool) -> Selection:
    """What is selected. Raises Invalid before anything is read."""
    selection = Selection(tuple(names), tuple(tags), every=every)
    selection.check()
    return selection
