"""Metrics of refreshes in Airflow's stats: docs/signals.md lists them. Each is tagged with `definition`, its name.

They are sent where their facts are known; nothing is read for them.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import conf
from airflow.sdk.observability import stats

from airflow_refresh_provider.core.run.results import Outcome, RunResult
from airflow_refresh_provider.errors import Interrupted, Lost, RefreshError
from airflow_refresh_provider.ports.watch import Committed

_NONE = "none"


def committed(definition: str, stage: str, chunk: Committed) -> None:
    """A chunk was committed to a target."""
    _count("chunks", 1, definition=definition, stage=stage)
    _time("chunk_seconds", chunk.seconds, definition=definition, way=chunk.way)


def resumed(definition: str) -> None:
    """An unfinished run is taken over."""
    _count("resume_total", 1, definition=definition)


def skipped(definition: str, outcome: Outcome) -> None:
    """A scheduled refresh was not started: no input has changed, or its definition is suspended."""
    _ended(definition, _NONE, _NONE, outcome)


def ended(result: RunResult) -> None:
    """A refresh ended, or was not needed."""
    _ended(result.name, result.mode or _NONE, result.mode_code or _NONE, result.outcome)
    behind(result.name, result.lag_seconds, result.target_lag_seconds, late=result.late)
    _time("seconds", result.seconds, definition=result.name)
    if result.outcome is not Outcome.SUCCEEDED:
        return
    rows = result.rows
    for change, count in {"inserted": rows.inserted, "updated": rows.updated, "deleted": rows.deleted}.items():
        if count:
            _count("rows", count, definition=result.name, change=change)
    if spent := result.spent:
        _time("spark_seconds", spent.spark_seconds, definition=result.name)
        for what, size in {"bytes_to_read": result.bytes_to_read, "bytes_written": spent.bytes_written}.items():
            if size:
                _count(what, size, definition=result.name)
    if result.fell_back:
        _count("fallback_total", 1, definition=result.name, reason=result.mode_code or _NONE)


def failed(definition: str, error: RefreshError | Interrupted) -> None:
    """A task ends with an error; whether it is tried again is not known here."""
    outcome = Outcome.INTERRUPTED if isinstance(error, Interrupted) else Outcome.of(error)
    _ended(definition, _NONE, error.code, outcome)
    if isinstance(error, Lost) and outcome is not Outcome.CANCELLED:
        _count("fenced_total", 1, definition=definition)


def behind(definition: str, lag_seconds: float | None, target_lag_seconds: float | None, *, late: bool) -> None:
    """How far a target is behind its inputs now; nothing where that is not known."""
    if lag_seconds is None:
        return
    _show("lag_seconds", lag_seconds, definition)
    _show("late", int(late), definition)
    if target_lag_seconds is not None:
        _show("target_lag_seconds", target_lag_seconds, definition)


def retention(definition: str, left: timedelta | None) -> None:
    """How long the changes that are not applied can still be read; None where they are kept, or there are none."""
    if left is not None:
        _show("retention_left_seconds", max(0.0, left.total_seconds()), definition)


def _ended(definition: str, mode: str, reason: str, outcome: Outcome) -> None:
    _count("run_total", 1, definition=definition, mode=mode, reason=str(reason), outcome=outcome.value)


def _count(name: str, by: int, **tags: str) -> None:
    stats.incr(f"refresh.{name}", by, tags=tags)
    if dotted := _dotted(name, tags):
        stats.incr(dotted, by)


def _show(name: str, value: float, definition: str) -> None:
    tags = {"definition": definition}
    stats.gauge(f"refresh.{name}", value, tags=tags)
    if dotted := _dotted(name, tags):
        stats.gauge(dotted, value)


def _time(name: str, seconds: float, **tags: str) -> None:
    took = timedelta(seconds=seconds)
    stats.timing(f"refresh.{name}", took, tags=tags)
    if dotted := _dotted(name, tags):
        stats.timing(dotted, took)


def _dotted(name: str, tags: dict[str, str]) -> str | None:
    """The name with the tags in it, as Airflow writes them; None where Airflow is not to send such names."""
    if not conf.getboolean("metrics", "legacy_names_on", fallback=False):
        return None
    values = (stats.normalize_name_for_stats(value, log_warning=False).replace(".", "__") for value in tags.values())
    return ".".join(("refresh", name, *values))
