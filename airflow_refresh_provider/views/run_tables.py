"""Tables of runs: results, cascades, progress, history, differences."""

from __future__ import annotations

from airflow_refresh_provider.core.run.admin_results import Rebuilt
from airflow_refresh_provider.core.run.costs import Cost
from airflow_refresh_provider.core.run.health import Health
from airflow_refresh_provider.core.run.queue import Unqueued, WaitingRequest
from airflow_refresh_provider.core.run.reports import ProgressReport, VnodeProgress
from airflow_refresh_provider.core.run.results import Differences, HistoryEntry, Outcome, RefreshStep, RunResult
from airflow_refresh_provider.views import formats
from airflow_refresh_provider.views.result_table import Cell, ResultTable, details, name_value_table, row


@row.register
def _(value: RunResult) -> dict[str, Cell]:
    return {
        "name": value.name,
        "outcome": f"{value.outcome}, resumed" if value.resumed else value.outcome.value,
        "reason": value.reason,
        "mode": formats.mode(value),
        "rows": formats.change_counts(value.rows),
        "foreseen": value.estimates.text,
        "touched values": value.touched,
        "within float_tolerance": value.within_tolerance or None,
        "chunks": f"{value.chunks.done:,} done, {value.chunks.skipped:,} of them skipped by this attempt",
        "inputs": formats.versions(value.input_versions),
        "files not read": formats.ignored(value.ignored_files),
        "notices": formats.notices(value.notices),
        "published": None if value.published_version is None else f"version {value.published_version}",
        "seconds": f"{value.seconds:.1f}",
        "attempts": _attempts(value.attempts, value.elapsed_seconds),
        "spent": formats.spent(value.spent),
        "to read": formats.known_size(value.bytes_to_read),
        "stages": ", ".join(f"{name} {seconds:.1f} s" for name, seconds in value.stages.items()) or None,
        "requests": ", ".join(value.requests) or None,
        "run": value.run_id,
    }


@row.register
def _(value: RefreshStep) -> dict[str, Cell]:
    result = value.result
    return {
        "name": value.name,
        "outcome": value.outcome.value,
        "rows": None if result is None else formats.change_counts(result.rows),
        "published": formats.published(result),
        "seconds": None if result is None else f"{result.seconds:.1f}",
        "reason": "see below" if value.error else value.reason,
    }


@row.register
def _(value: HistoryEntry) -> dict[str, Cell]:
    result = value.result
    return {
        "name": value.name,
        "at": formats.time(value.at),
        "outcome": value.outcome.value,
        "mode": formats.modes(value.mode, value.requested_mode) if result is None else formats.mode(result),
        "generation": value.generation,
        "rows": None if result is None else formats.change_counts(result.rows),
        "duration": formats.duration(value.elapsed_seconds),
        "attempts": value.attempts or None,
        "resumed by": formats.resumed_by(value.owners),
        "in Spark": formats.duration(value.spent.spark_seconds) if value.spent else None,
        "to read": formats.known_size(value.bytes_to_read),
        "written": formats.size(value.spent.bytes_written) if value.spent else None,
        "published": formats.published(result),
        "run": value.run_id,
        "reason": value.reason or (f"request {', '.join(value.requests)}" if value.requests else None),
    }


@row.register
def _(value: Cost) -> dict[str, Cell]:
    return {
        "of": value.of,
        "runs": value.runs,
        "published": value.published,
        "full": value.full,
        "fell back": value.fell_back or None,
        "rows": formats.signed(value.rows),
        "worked": formats.duration(value.worked_seconds),
        "longest": formats.duration(value.longest_seconds),
        "in Spark": formats.duration(value.spark_seconds),
        "to read": formats.known_size(value.bytes_to_read),
        "written": formats.known_size(value.bytes_written),
    }


@row.register
def _(value: WaitingRequest) -> dict[str, Cell]:
    return {
        "name": value.name,
        "place": value.place,
        "priority": value.priority,
        "options": formats.queued_options(value.options),
        "asked by": value.by,
        "since": formats.time(value.at),
        "id": value.id,
    }


@row.register
def _(value: Unqueued) -> dict[str, Cell]:
    request = value.request
    return {"name": value.name, "removed": request.id, "asked by": request.by, "still waiting": value.waiting}


@row.register
def _(value: ProgressReport) -> dict[str, Cell]:
    return {"name": value.name, "stage": value.stage, **_progress(value)}


@row.register
def _(value: Rebuilt) -> dict[str, Cell]:
    restored = "yes" if value.restored else "no"
    return {"name": value.name, "restored": restored, "reason": value.reason, **_progress(value)}


@details.register
def _(value: ProgressReport) -> ResultTable:
    """The report, and below it a line for each vnode, and what can be done with a run in progress."""
    held = value.health in (Health.RUNNING, Health.WAITING)
    shown = value.health is not None and value.outcome is not Outcome.CANCELLED
    steps = formats.steering(value.name, value.offers, held=held) if shown else ()
    return name_value_table(row(value).items(), (*map(_vnode, value.vnodes), *steps))


@row.register
def _(value: Differences) -> dict[str, Cell]:
    return {
        "name": value.name,
        "target": value.target,
        "equal": "yes" if value.equal else "no",
        "changes to apply": formats.change_counts(value.rows),
        "within float_tolerance": value.within_tolerance or None,
        "rows of the query": value.source_rows,
        "rows of the target": value.target_rows,
        "target version": None if value.target_version is None else str(value.target_version),
        "inputs": formats.versions(value.input_versions),
        "megabytes": None if value.bytes is None else f"{value.bytes / 1e6:,.1f}",
        "seconds": f"{value.seconds:.1f}",
    }


@details.register
def _(value: Differences) -> ResultTable:
    """The counts, and below them the samples."""
    notes = tuple(f"{s.op}  query: {_values(s.desired)}  target: {_values(s.found)}" for s in value.samples)
    return name_value_table(row(value).items(), notes)


def _attempts(attempts: int, elapsed_seconds: float) -> str | None:
    """Shown of a run that did not come through in its first attempt."""
    return f"{attempts}, {formats.duration(elapsed_seconds)} since the run started" if attempts > 1 else None


def _progress(value: ProgressReport) -> dict[str, Cell]:
    speed, left = value.rows_per_second, formats.duration(value.seconds_left)
    state = formats.health(value.health) if value.health and value.health is not Health.RUNNING else None
    return {
        "state": state,
        "chunks": formats.done_of(value.chunks_done, value.chunks_total),
        "rows": formats.done_of(value.rows_done, value.rows_total),
        "done": None if value.percent is None else f"{value.percent:.0f} %",
        "rate": None if speed is None else formats.rate(speed),
        "time left": left,
        "budget": formats.budget(value.budget),
        "throttle": formats.throttle(value.throttle),
        "waiting for its throttle": formats.waits(value.waits),
        "outcome": value.outcome,
        "failure": value.failure,
        "run": value.run_id,
    }


def _vnode(value: VnodeProgress) -> str:
    """One vnode; a negative number stands for all of them."""
    name = f"vnode {value.vnode}: " if value.vnode >= 0 else ""
    return f"{name}{value.stage}, unit {value.unit}, chunk {value.chunk}, {formats.change_counts(value.rows)}"


def _values(sample: dict[str, object] | None) -> str:
    return "-" if sample is None else ", ".join(f"{name}={value}" for name, value in sample.items())
