"""Sheets: what people see of each result model. Which model is shown how is decided here and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import singledispatch

from airflow_refresh_provider.core.changes.pins import Digests
from airflow_refresh_provider.core.plan.plan import ChangeCounts
from airflow_refresh_provider.core.run.admin_results import Dropped, Rebuilt, Recovery, Registration
from airflow_refresh_provider.core.run.reports import (
    DefinitionStatus,
    DueReport,
    Freshness,
    InputLag,
    ProgressReport,
    RunStatus,
    VnodeProgress,
)
from airflow_refresh_provider.core.run.results import (
    CascadeResult,
    CascadeStep,
    Differences,
    HistoryEntry,
    Rows,
    RunResult,
)
from airflow_refresh_provider.core.text.stored import Stored
from airflow_refresh_provider.views.cli_results import ServerReport, Validated

Cell = str | int | None


@dataclass(frozen=True)
class Sheet:
    """Rows under columns, and lines below them. Columns without names make a list of facts."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()


def sheet(answer: Stored | list[Stored]) -> Sheet:
    """One result as a list of facts, several as a table."""
    if not isinstance(answer, list):
        return facts(answer)
    if not answer:
        return Sheet((), (), ("nothing to show",))
    lines = [line(value) for value in answer]
    return Sheet(tuple(lines[0]), tuple(tuple(values.values()) for values in lines), tuple(_complaints(answer)))


def _complaints(answers: Iterable[Stored]) -> Iterable[str]:
    """What to do about those of several that have failed."""
    for value in answers:
        if isinstance(value, CascadeStep | Freshness | Recovery) and (error := value.error):
            yield f"{value.name}: {error.message} [{error.code}] {error.left} {error.next}"


@singledispatch
def line(value: Stored) -> dict[str, Cell]:
    """A result as one row of a table, by column."""
    raise TypeError(f"{type(value).__name__} has no row of a table")


@singledispatch
def facts(value: Stored) -> Sheet:
    """A result by itself; what has no form of its own is shown as its row, turned upright."""
    return _facts(line(value).items())


def _facts(pairs: Iterable[tuple[str, Cell]], notes: tuple[str, ...] = ()) -> Sheet:
    return Sheet(("", ""), tuple((name, _grouped(value)) for name, value in pairs if value is not None), notes)


@line.register
def _(value: Validated) -> dict[str, Cell]:
    return {"name": value.name, "target": value.target, "file": value.file}


@line.register
def _(value: Registration) -> dict[str, Cell]:
    return {"name": value.name, "outcome": value.outcome, "target": value.target}


@line.register
def _(value: Dropped) -> dict[str, Cell]:
    kept = "deleted" if value.target_deleted else f"kept: {value.kept_because}" if value.kept_because else "kept"
    return {"name": value.name, "target": f"{value.target} ({kept})", "run abandoned": value.run_abandoned}


@line.register
def _(value: ServerReport) -> dict[str, Cell]:
    return {
        "state": "running" if value.running else "not running",
        "url": value.url,
        "pid": None if value.pid is None else str(value.pid),
        "log": value.log,
    }


@line.register
def _(value: DefinitionStatus) -> dict[str, Cell]:
    return {
        "name": value.name,
        "state": _state(value),
        "run": None if value.run is None else _how_far(value.run),
        "published": None if value.published_version is None else str(value.published_version),
        "published at": _time(value.published_at),
        "target": value.target,
    }


def _state(value: DefinitionStatus) -> str:
    state = f"suspended: {value.suspended}" if value.suspended else value.state
    return f"{state}, paused" if value.paused else state


@facts.register
def _(value: DefinitionStatus) -> Sheet:
    definition = value.definition
    return _facts(
        [
            *(line(value) | {"run": None if value.run is None else _run(value.run)}).items(),
            ("status", f"{value.status}: {value.status_text}"),
            ("inputs", _inputs(value.input_versions) or ", ".join(definition.inputs)),
            ("keys", ", ".join(definition.keys)),
            ("generation", value.generation),
            ("definition", value.definition_hash),
            ("owner", definition.owner),
            ("description", definition.description),
        ]
    )


@line.register
def _(value: RunResult) -> dict[str, Cell]:
    return {
        "name": value.name,
        "outcome": f"{value.outcome}, resumed" if value.resumed else value.outcome.value,
        "reason": value.reason,
        "mode": _mode(value),
        "rows": _rows(value.rows),
        "chunks": f"{value.chunks.done:,} done, {value.chunks.skipped:,} of them skipped by this attempt",
        "inputs": _inputs(value.input_versions),
        "published": None if value.published_version is None else f"version {value.published_version}",
        "seconds": f"{value.seconds:.1f}",
        "stages": ", ".join(f"{name} {seconds:.1f} s" for name, seconds in value.stages.items()) or None,
        "run": value.run_id,
    }


@line.register
def _(value: CascadeStep) -> dict[str, Cell]:
    result = value.result
    return {
        "name": value.name,
        "outcome": value.outcome.value,
        "rows": None if result is None else _rows(result.rows),
        "published": None if result is None or result.published_version is None else str(result.published_version),
        "seconds": None if result is None else f"{result.seconds:.1f}",
        "reason": value.reason,
    }


@facts.register
def _(value: CascadeResult) -> Sheet:
    """A line for each definition, and what to do about those that failed below them."""
    return sheet(list(value.refreshes))


@facts.register
def _(value: ProgressReport) -> Sheet:
    """The report, and a line for each vnode below it."""
    notes = tuple(f"{_vnode(v)}{v.stage}, unit {v.unit}, chunk {v.chunk}, {_rows(v.rows)}" for v in value.vnodes)
    return _facts(line(value).items(), notes)


@line.register
def _(value: ProgressReport) -> dict[str, Cell]:
    return {
        "name": value.name,
        "stage": value.stage,
        "chunks": _of(value.chunks_done, value.chunks_total),
        "rows": _of(value.rows_done, value.rows_total),
        "run": value.run_id,
    }


@line.register
def _(value: Rebuilt) -> dict[str, Cell]:
    return {
        "name": value.name,
        "restored": "yes" if value.restored else "no",
        "reason": value.reason,
        "chunks": _of(value.chunks_done, value.chunks_total),
        "rows": _of(value.rows_done, value.rows_total),
        "run": value.run_id,
    }


@line.register
def _(value: HistoryEntry) -> dict[str, Cell]:
    result = value.result
    return {
        "at": _time(value.at),
        "outcome": value.outcome.value,
        "mode": None if result is None else _mode(result),
        "generation": value.generation,
        "rows": None if result is None else _rows(result.rows),
        "seconds": None if result is None else f"{result.seconds:.1f}",
        "published": None if result is None or result.published_version is None else str(result.published_version),
        "run": value.run_id,
        "reason": value.reason,
    }


@line.register
def _(value: DueReport) -> dict[str, Cell]:
    return {
        "name": value.name,
        "due": "yes" if value.due else "no",
        "reason": value.reason,
        "next": _time(value.next_at),
        "behind": _duration(value.lag_seconds),
    }


@line.register
def _(value: Freshness) -> dict[str, Cell]:
    return {
        "name": value.name,
        "behind": _behind(value),
        "confirmed at": _time(value.confirmed_at),
        "a refresh takes": _duration(value.ready_in_seconds),
        "inputs": "; ".join(map(_lag, value.inputs)) or None,
    }


def _behind(value: Freshness) -> str:
    if value.error:
        return "not known, see below"
    if value.nothing_to_read:
        return value.nothing_to_read
    wanted = "" if value.target_lag_seconds is None else f" of {_duration(value.target_lag_seconds)}"
    behind = "never refreshed" if value.lag_seconds is None else f"{_duration(value.lag_seconds)}{wanted}"
    return f"{behind}, late" if value.late else behind


def _lag(value: InputLag) -> str:
    place = f"{value.name} ({value.upstream})" if value.upstream else value.name
    if not value.lag_seconds:
        return f"{place} applied"
    kept = f", kept until {_time(value.kept_until)}" if value.kept_until else ""
    return f"{place} {_short(value.applied or 0)} of {_short(value.newest or 0)}, {_duration(value.lag_seconds)}{kept}"


def _duration(seconds: float | None) -> str | None:
    return None if seconds is None else str(timedelta(seconds=round(seconds)))


@line.register
def _(value: Recovery) -> dict[str, Cell]:
    reason = "see below" if value.error else value.reason
    return {"name": value.name, "outcome": value.outcome, "reason": reason, "run": value.run_id}


@line.register
def _(value: Differences) -> dict[str, Cell]:
    return {
        "name": value.name,
        "target": value.target,
        "equal": "yes" if value.equal else "no",
        "a refresh would": _rows(value.rows),
        "rows of the query": value.source_rows,
        "rows of the target": value.target_rows,
        "target version": None if value.target_version is None else str(value.target_version),
        "inputs": _inputs(value.input_versions),
        "megabytes": None if value.bytes is None else f"{value.bytes / 1e6:,.1f}",
        "seconds": f"{value.seconds:.1f}",
    }


@facts.register
def _(value: Differences) -> Sheet:
    """The counts, and the samples below them."""
    notes = tuple(f"{s.op}  query: {_row(s.desired)}  target: {_row(s.found)}" for s in value.samples)
    return _facts(line(value).items(), notes)


def _run(run: RunStatus) -> str:
    return f"{run.run_id}, {_far(run)}, attempt {run.attempts}, {_holder(run)}"


def _holder(run: RunStatus) -> str:
    """Who is at it, or whom it waits for."""
    tasks = f"tasks of {run.origin.strip()}" if run.origin else "tasks of its own"
    if run.live:
        return f"held by {run.owner or tasks}"
    return f"between two {tasks}, kept until {_time(run.kept_until)}" if run.kept_until else "interrupted"


def _how_far(run: RunStatus) -> str:
    """What fits into a column: the labels of owners and the names of runs may be long."""
    return f"{_far(run)}, {'at work' if run.live else 'between two tasks' if run.kept_until else 'interrupted'}"


def _far(run: RunStatus) -> str:
    return f"{run.stage}, {_of(run.chunks_done, run.chunks_total)} chunks"


def _mode(result: RunResult) -> str:
    return f"{result.mode}: {result.mode_reason}" if result.mode_reason else result.mode


def _vnode(progress: VnodeProgress) -> str:
    """Which vnode; a negative number stands for all of them."""
    return f"vnode {progress.vnode}: " if progress.vnode >= 0 else ""


def _rows(rows: Rows | ChangeCounts) -> str:
    return ", ".join(f"{count:,} {what}" for what, count in rows.model_dump().items())


def _inputs(versions: Digests) -> str | None:
    return ", ".join(f"{name} {_short(version)}" for name, version in versions.items()) or None


def _short(version: int | str) -> str:
    return str(version)[: len("sha256:") + 12]


def _of(done: int, total: int | None) -> str:
    return f"{done:,}" if total is None else f"{done:,} of {total:,}"


def _row(row: dict[str, object] | None) -> str:
    return "-" if row is None else ", ".join(f"{name}={value}" for name, value in row.items())


def _time(at: datetime | None) -> str | None:
    return None if at is None else at.strftime("%Y-%m-%d %H:%M:%S UTC")


def _grouped(value: Cell) -> Cell:
    return f"{value:,}" if isinstance(value, int) else value
