"""Tables of definitions: registration, status, freshness, recovery, removal; and of the Spark server."""

from __future__ import annotations

from airflow_refresh_provider.core.run.admin_results import Dropped, Recovery, Registration, ServerReport, Validated
from airflow_refresh_provider.core.run.reports import DefinitionStatus, DueReport, Freshness, InputLag, RunStatus
from airflow_refresh_provider.views import formats
from airflow_refresh_provider.views.result_table import Cell, ResultTable, details, name_value_table, row


@row.register
def _(value: Validated) -> dict[str, Cell]:
    return {"name": value.name, "target": value.target, "file": value.file}


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
def _(value: ServerReport) -> dict[str, Cell]:
    return {
        "running": "yes" if value.running else "no",
        "url": value.url,
        "pid": None if value.pid is None else str(value.pid),
        "log": value.log,
    }


@row.register
def _(value: DefinitionStatus) -> dict[str, Cell]:
    return {
        "name": value.name,
        "state": _state(value),
        "run": None if value.run is None else _run_in_short(value.run),
        "published": None if value.published_version is None else str(value.published_version),
        "published at": formats.time(value.published_at),
        "target": value.target,
    }


@details.register
def _(value: DefinitionStatus) -> ResultTable:
    definition = value.definition
    return name_value_table(
        [
            *(row(value) | {"run": None if value.run is None else _run(value.run)}).items(),
            ("status", f"{value.status}: {value.status_text}"),
            ("inputs", formats.versions(value.input_versions) or ", ".join(definition.inputs)),
            ("files not read", formats.ignored(value.ignored_files)),
            ("keys", ", ".join(definition.keys)),
            ("generation", value.generation),
            ("definition", value.definition_hash),
            ("owner", definition.owner),
            ("description", definition.description),
        ],
        tuple(f"{note.message} [{note.code}]" for note in value.notes),
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


def _state(value: DefinitionStatus) -> str:
    state = f"suspended: {value.suspended}" if value.suspended else value.state
    return f"{state}, paused" if value.paused else state


def _run(run: RunStatus) -> str:
    return f"{run.run_id}, {_progress(run)}, attempt {run.attempts}, {_holder(run)}"


def _run_in_short(run: RunStatus) -> str:
    """What fits into a column: labels of owners and ids of runs may be long."""
    holder = "running" if run.live else "between two tasks" if run.kept_until else "interrupted"
    return f"{_progress(run)}, {holder}"


def _progress(run: RunStatus) -> str:
    return f"{run.stage}, {formats.done_of(run.chunks_done, run.chunks_total)} chunks"


def _holder(run: RunStatus) -> str:
    """The owner of the run, or which tasks it is kept for."""
    tasks = f"tasks of {run.origin.strip()}" if run.origin else "tasks of the same run"
    if run.live:
        return f"held by {run.owner or tasks}"
    return f"between two {tasks}, kept until {formats.time(run.kept_until)}" if run.kept_until else "interrupted"


def _behind(value: Freshness) -> str:
    if value.error:
        return "not known, see below"
    if value.unreadable_reason:
        return value.unreadable_reason
    wanted = "" if value.target_lag_seconds is None else f" of {formats.duration(value.target_lag_seconds)}"
    behind = "never refreshed" if value.lag_seconds is None else f"{formats.duration(value.lag_seconds)}{wanted}"
    return f"{behind}, late" if value.late else behind


def _input_lag(value: InputLag) -> str:
    place = f"{value.name} ({value.upstream})" if value.upstream else value.name
    if not value.lag_seconds:
        return f"{place} applied"
    applied, newest = (formats.version(found or 0) for found in (value.applied, value.newest))
    kept = f", kept until {formats.time(value.kept_until)}" if value.kept_until else ""
    return f"{place} {applied} of {newest}, {formats.duration(value.lag_seconds)}{kept}"


def _kept(value: Dropped) -> str:
    if value.target_deleted:
        left = f"; left {value.files_left} files that its log does not name, such as {value.left_example}"
        return f"deleted{left if value.files_left else ''}"
    return f"kept: {value.kept_reason}" if value.kept_reason else "kept"
