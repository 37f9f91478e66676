"""Tables of definitions: registration, status, freshness, recovery, removal; and of the Spark server."""

from __future__ import annotations

from airflow_refresh_provider.core.run.admin_results import (
    Dropped,
    PageReport,
    Recovery,
    Registration,
    ServerReport,
    Validated,
)
from airflow_refresh_provider.core.run.health import Health
from airflow_refresh_provider.core.run.last_run import LastRun
from airflow_refresh_provider.core.run.reports import DefinitionStatus, DueReport, Freshness, InputLag, RunStatus
from airflow_refresh_provider.core.run.results import Outcome
from airflow_refresh_provider.core.text.wording import counted
from airflow_refresh_provider.views import formats
from airflow_refresh_provider.views.explanation_lines import followed
from airflow_refresh_provider.views.forecast_lines import (
    behind_text,
    by_dag,
    end_text,
    expiring_text,
    late_text,
    next_refresh,
)
from airflow_refresh_provider.views.result_table import Cell, ResultTable, details, name_value_table, row


@row.register
def _(value: Validated) -> dict[str, Cell]:
    return {"name": value.name, "follows": followed(value.explanation), "target": value.target, "file": value.file}


@row.register
def _(value: Registration) -> dict[str, Cell]:
    return {"name": value.name, "outcome": value.outcome, "target": value.target}


@row.register
def _(value: Recovery) -> dict[str, Cell]:
    reason = "see below" if value.error else value.reason
    return {"name": value.name, "outcome": value.outcome, "reason": reason, "run": value.run_id}


@row.register
def _(value: Dropped) -> dict[str, Cell]:
    return {"name": value.name, "target": f"{value.target} ({_kept(value)})", "run abandoned": value.run_abandoned}


@row.register
def _(value: PageReport) -> dict[str, Cell]:
    return {"ended": value.url}


@row.register
def _(value: ServerReport) -> dict[str, Cell]:
    return {
        "running": "yes" if value.running else "no",
        "url": value.url,
        "pid": None if value.pid is None else str(value.pid),
        "log": value.log,
    }


@row.register
def _(value: DefinitionStatus) -> dict[str, Cell]:
    """One line of at most 100 characters, unless names are long."""
    fresh, last = value.freshness, value.last_run
    return {
        "name": value.name,
        "status": health_text(value),
        "data as of": formats.minute(fresh.confirmed_at) if fresh else None,
        "behind": behind_text(value) if fresh else None,
        "last run": _last_run(last) if last else None,
        "next due": next_refresh(value) or by_dag(value),
        "target": formats.place(value.target),
    }


@details.register
def _(value: DefinitionStatus) -> ResultTable:
    definition, fresh = value.definition, value.freshness
    return name_value_table(
        [
            ("name", value.name),
            ("status", health_text(value)),
            ("why", why(value)),
            ("data as of", formats.time(fresh.confirmed_at) if fresh else None),
            ("behind", _behind(fresh) if fresh else None),
            ("freshness", fresh.state if fresh else None),
            ("late at", late_text(value.forecast)),
            ("run ends", end_text(value.forecast)),
            ("changes expire", expiring_text(value.forecast)),
            ("next due", _due_text(value)),
            ("run", None if value.run is None else _run(value.run)),
            ("budget", formats.budget(value.run.budget) if value.run else None),
            ("throttle", formats.throttle(value.throttle)),
            ("queue", formats.queued(value.queue)),
            ("last run", _last_run_text(value.last_run) if value.last_run else None),
            ("spent by it", formats.spent(value.last_run.spent) if value.last_run else None),
            ("state", _state(value)),
            ("activity", f"{value.status}: {value.status_text}"),
            ("published", None if value.published_version is None else str(value.published_version)),
            ("published at", formats.time(value.published_at)),
            ("readable until", formats.time(fresh.readable_until) if fresh else None),
            ("target", value.target),
            ("inputs", formats.versions(value.input_versions) or ", ".join(definition.inputs)),
            ("files not read", formats.ignored(value.ignored_files)),
            ("notices", formats.notices(value.run.notices) if value.run else None),
            ("keys", ", ".join(definition.keys)),
            ("generation", value.generation),
            ("definition", value.definition_hash),
            ("owner", definition.owner),
            ("description", definition.description),
        ],
        (*_errors(value), *(notice.line for notice in value.notices), *_steering(value), *_reading(value)),
    )


@row.register
def _(value: DueReport) -> dict[str, Cell]:
    return {
        "name": value.name,
        "due": "yes" if value.due else "no",
        "reason": value.reason,
        "next": formats.time(value.next_at),
        "behind": formats.duration(value.lag_seconds),
    }


@row.register
def _(value: Freshness) -> dict[str, Cell]:
    return {
        "name": value.name,
        "behind": _behind(value),
        "confirmed at": formats.time(value.confirmed_at),
        "expected duration": formats.duration(value.expected_seconds),
        "inputs": "; ".join(map(_input_lag, value.inputs)) or None,
    }


def health_text(value: DefinitionStatus) -> str:
    """How a table is, in a few words, and how many requests wait for its run to end."""
    return f"{_health(value)}, {len(value.queue)} waiting" if value.queue else _health(value)


def _health(value: DefinitionStatus) -> str:
    run = value.run
    words = formats.health(value.health) if value.health else value.status_text
    match value.health:
        case Health.RUNNING if run:
            left = f", {formats.duration(run.seconds_left)} left" if run.seconds_left is not None else ""
            done = f"{run.percent:.0f} %" if run.percent is not None else run.stage
            return f"running, {done}{left}"
        case (
            Health.WAITING | Health.PAUSED | Health.INTERRUPTED | Health.BUDGET_SPENT | Health.FAILED | Health.CANCELLED
        ) if run:
            at = f"{formats.done_of(run.chunks_done, run.chunks_total)} chunks"
            return f"{words}, {at}"
        case Health.FAILED if value.last_run and value.last_run.code:
            return f"failed: {value.last_run.code}"
        case Health.UNKNOWN if value.freshness and value.freshness.error:
            return f"unknown: {value.freshness.error.code}"
        case _:
            return words


def why(value: DefinitionStatus) -> str | None:
    """The reason where a table is not as it should be."""
    fresh, last = value.freshness, value.last_run
    match value.health:
        case Health.FAILED if last:
            return last.reason
        case Health.CANCELLED if value.run and value.run.cancelled:
            return f"{value.run.cancelled.text}; {value.run.cancelled.then}"
        case Health.SUSPENDED:
            return value.suspended
        case Health.BUDGET_SPENT if value.run:
            return formats.budget_spent(value.run.budget)
        case Health.UNKNOWN if fresh and fresh.error:
            return fresh.error.message
        case _:
            return (fresh.unreadable_reason or fresh.overwritten_reason) if fresh else None


def _state(value: DefinitionStatus) -> str:
    state = f"suspended: {value.suspended}" if value.suspended else value.state
    return f"{state}, paused" if value.paused else state


def _last_run(last: LastRun) -> str:
    """For a column."""
    if last.outcome is not Outcome.SUCCEEDED:
        return f"{last.outcome} {formats.minute(last.at)}"
    return f"{formats.signed(last.rows)} in {formats.duration(last.elapsed_seconds)}"


def _last_run_text(last: LastRun) -> str:
    rows = f", {formats.change_counts(last.rows)}" if last.outcome is Outcome.SUCCEEDED else ""
    took = f" after {formats.duration(last.elapsed_seconds)}" if last.elapsed_seconds is not None else ""
    tries = f", {last.attempts} attempts" if last.attempts > 1 else ""
    why = f": {last.reason} [{last.code}]" if last.code else f": {last.reason}" if last.reason else ""
    return f"{last.outcome} at {formats.time(last.at)}{took}{tries}{rows}{why}"


def _due_text(value: DefinitionStatus) -> str | None:
    if value.due is None or value.health is Health.WAITING:
        return next_refresh(value)
    by_others = f"by the DAG {dag}" if (dag := by_dag(value)) else "not scheduled"
    at = "now" if value.due.due else formats.time(value.due.next_at) or by_others
    return f"{at}: {value.due.reason}"


def _errors(value: DefinitionStatus) -> tuple[str, ...]:
    """Why it is not known how far the target is behind."""
    error = value.freshness.error if value.freshness else None
    return (f"{error.message} [{error.code}] {error.next}",) if error else ()


def _steering(value: DefinitionStatus) -> tuple[str, ...]:
    """How the run in progress is stopped, or what can be done with one that is unfinished."""
    run = value.run
    if run is None or run.cancelled:
        return ()
    return formats.steering(value.name, run.offers, held=run.live or run.kept_until is not None)


def _reading(value: DefinitionStatus) -> tuple[str, ...]:
    """The lines that read the target, with what keeps a program from it."""
    if not value.reading:
        return ()
    texts = (f"  {one.program}: {one.line or 'not possible'}" for one in value.reading)
    reasons = (f"  {one.program}: {one.reason}" for one in value.reading if one.reason)
    return ("to read it:", *texts, *reasons)


def _run(run: RunStatus) -> str:
    rate = f", {formats.rate(run.rows_per_second)}" if run.rows_per_second else ""
    left = f", {formats.duration(run.seconds_left)} left" if run.seconds_left is not None else ""
    done = f" ({run.percent:.0f} %)" if run.percent is not None else ""
    return f"{run.run_id}, {_progress(run)}{done}{rate}{left}, attempt {run.attempts}, {_holder(run)}"


def _progress(run: RunStatus) -> str:
    return f"{run.stage}, {formats.done_of(run.chunks_done, run.chunks_total)} chunks"


def _holder(run: RunStatus) -> str:
    """The owner of the run, or which tasks it is kept for."""
    tasks = f"tasks of {run.origin.strip()}" if run.origin else "tasks of the same run"
    if run.cancelled:
        return f"{run.cancelled.text} at {formats.time(run.cancelled.at)}; {run.cancelled.then}"
    if run.live:
        return f"held by {run.owner or tasks}"
    return f"between two {tasks}, kept until {formats.time(run.kept_until)}" if run.kept_until else "interrupted"


def _behind(value: Freshness) -> str:
    if value.error:
        return "not known, see below"
    if value.unreadable_reason or value.overwritten_reason:
        return value.unreadable_reason or f"not known: {value.overwritten_reason}"
    wanted = "" if value.target_lag_seconds is None else f" of {formats.duration(value.target_lag_seconds)}"
    behind = "never refreshed" if value.lag_seconds is None else f"{formats.duration(value.lag_seconds)}{wanted}"
    return f"{behind}, late" if value.late else behind


def _input_lag(value: InputLag) -> str:
    place = f"{value.name} ({value.upstream})" if value.upstream else value.name
    if not value.lag_seconds:
        return f"{place} applied"
    applied, newest = (formats.version(found or 0) for found in (value.applied, value.newest))
    kept = f", kept until {formats.time(value.kept_until)}" if value.kept_until else ""
    kept = ", its changes are deleted: the next refresh compares everything" if value.expired else kept
    return f"{place} {applied} of {newest}, {formats.duration(value.lag_seconds)}{kept}"


def _kept(value: Dropped) -> str:
    if value.target_deleted:
        left = f"; left {counted(value.files_left, 'file')} that its log does not name, such as {value.left_example}"
        return f"deleted{left if value.files_left else ''}"
    return f"kept: {value.kept_reason}" if value.kept_reason else "kept"
