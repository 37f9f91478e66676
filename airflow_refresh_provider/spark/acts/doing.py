"""What an act is doing, as facts for the answer to an error of Spark."""

from __future__ import annotations

from airflow_refresh_provider.core.faults.fault import Doing, SentQuery
from airflow_refresh_provider.ports.tasks import ApplyTask, CompareTask, Source, WindowTask

COMMITTED = "The target has every chunk that was committed, and nothing of any other."


def querying(left: str, source: Source, target: str | None = None, staging: tuple[str, ...] = ()) -> Doing:
    """The query is run over its inputs, for a target or for staging."""
    query = SentQuery(text=source.query, written=source.written, clock_spans=source.clock_spans, moment=source.moment)
    return Doing(left=left, inputs=_inputs(source), target=target, staging=staging, query=query)


def comparing(left: str, task: CompareTask) -> Doing:
    """Query and target are compared, and the differences are staged."""
    staged = (task.rows.location,) if task.rows else ()
    return querying(left, task.source, task.target.location, (task.location, *staged))


def reading_windows(left: str, task: WindowTask) -> Doing:
    """The changes of the inputs are staged."""
    return querying(left, task.source, None, (task.location,))


def applying(task: ApplyTask) -> Doing:
    """A chunk is applied: staged changes, or the query itself."""
    staged = (task.changes.location,) if task.changes else ()
    if task.reads_inputs:
        return querying(COMMITTED, task.source, task.target.location, staged)
    return Doing(left=COMMITTED, target=task.target.location, staging=staged, applies_staged=True)


def _inputs(source: Source) -> dict[str, str]:
    return {name: read.location for name, read in source.reads.items()}
