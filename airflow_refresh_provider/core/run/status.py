"""The status of a definition, in the words of batch-refreshed views; derived from its record, never stored.

A run that reads whole inputs consumes a snapshot; a run that reads windows consumes what the inputs have logged.
"""

from __future__ import annotations

from enum import StrEnum

from airflow_refresh_provider.core.run.lifecycle import State
from airflow_refresh_provider.core.run.record import Record, Run


class RefreshStatus(StrEnum):
    """What a definition is doing."""

    IDLE = "Idle"
    CONSUMING_SNAPSHOT = "ConsumingSnapshot"
    FINISHING_SNAPSHOT = "FinishingSnapshot"
    INITIALIZING = "InitializingBatchRefresh"
    CONSUMING_LOG = "ConsumingLogStore"
    RESETTING = "Resetting"


def status(record: Record) -> RefreshStatus:
    """Derive it from a record."""
    run = record.run
    if record.state is State.RESETTING:
        return RefreshStatus.RESETTING
    if run is None or run.cancelled:
        return RefreshStatus.IDLE
    if run.windows:
        return RefreshStatus.CONSUMING_LOG if run.plan.target else RefreshStatus.INITIALIZING
    return RefreshStatus.FINISHING_SNAPSHOT if run.frozen else RefreshStatus.CONSUMING_SNAPSHOT


def status_text(record: Record, chunks_done: int) -> str:
    """The status as a sentence, with the progress of its run."""
    run = record.run
    if run is not None and run.cancelled:
        return f"{run.cancelled.text}; {_how_far(run, chunks_done)}; {run.cancelled.then}"
    match status(record):
        case RefreshStatus.IDLE if record.published is None:
            return "nothing has been published yet"
        case RefreshStatus.IDLE:
            return "the target is published"
        case RefreshStatus.RESETTING:
            return "the definition is being dropped"
        case _:
            assert run is not None
            return f"{_reads(run)}; {_how_far(run, chunks_done)}"


def _reads(run: Run) -> str:
    if not run.windows:
        return "reads everything"
    return "reads " + ", ".join(f"{name} in {w.label}" for name, w in run.windows.items())


def _how_far(run: Run, chunks_done: int) -> str:
    if run.published:
        return "published, staging is being removed"
    if run.frozen is None:
        return "staging is being filled"
    planned = sum(len(unit.chunks) for one in run.frozen.rounds for unit in one.units)
    return f"{chunks_done} of {planned} chunks are in the target"
