"""Metrics of refreshes in Airflow's stats. Each is tagged with `definition`, its name.

| name | kind | counts |
|---|---|---|
| `refresh.chunks` | counter | committed chunks; tag `stage` |
| `refresh.rows` | counter | changed rows in them; tag `stage` |
| `refresh.ended` | counter | refreshes that ended in a task, and task tries that ended with an error; tag `outcome` |
| `refresh.lag` | gauge | seconds by which a target was behind its inputs when a refresh of it ended or was skipped |
| `refresh.late` | gauge | 1 if that was more than the definition's `target_lag`, else 0 |
| `refresh.seconds` | timer | from the start of a refresh, or of the attempt of a single task, to its end |

`outcome` is `succeeded` or `nothing_to_do`, or `skipped` if the definition of a scheduled refresh is suspended, or,
of a try, `failed`, `refused` (a decision is needed), `cancelled` (by a person) or `interrupted` (it was
stopped on request). A task that is killed counts nothing.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk.observability import stats

from airflow_refresh_provider.core.run.results import Outcome, RunResult
from airflow_refresh_provider.errors import Cancelled, Interrupted, RefreshError, Refused


def committed(definition: str, stage: str, rows: int) -> None:
    """A chunk was committed to a target."""
    tags = {"definition": definition, "stage": stage}
    stats.incr("refresh.chunks", tags=tags)
    if rows:
        stats.incr("refresh.rows", rows, tags=tags)


def idle(definition: str) -> None:
    """No input has changed: no refresh is needed."""
    _count(definition, Outcome.NOTHING_TO_DO)


def suspended(definition: str, lag_seconds: float | None, *, late: bool) -> None:
    """A scheduled refresh was skipped because its definition is suspended."""
    _count(definition, Outcome.SKIPPED)
    _behind(definition, lag_seconds, late=late)


def ended(result: RunResult) -> None:
    """A refresh ended, or was not needed."""
    _count(result.name, result.outcome)
    _behind(result.name, result.lag_seconds, late=result.late)
    stats.timing("refresh.seconds", timedelta(seconds=result.seconds), tags={"definition": result.name})


def failed(definition: str, error: RefreshError | Interrupted) -> None:
    """A task ends with an error; whether it is tried again is not known here."""
    match error:
        case Refused():
            _count(definition, Outcome.REFUSED)
        case Cancelled():
            _count(definition, Outcome.CANCELLED)
        case Interrupted():
            _count(definition, Outcome.INTERRUPTED)
        case _:
            _count(definition, Outcome.FAILED)


def _behind(definition: str, lag_seconds: float | None, *, late: bool) -> None:
    if lag_seconds is not None:
        stats.gauge("refresh.lag", lag_seconds, tags={"definition": definition})
        stats.gauge("refresh.late", int(late), tags={"definition": definition})


def _count(definition: str, outcome: Outcome) -> None:
    stats.incr("refresh.ended", tags={"definition": definition, "outcome": outcome.value})
