"""Phases: what a definition is doing, in the words that people know from batch-refreshed views.

They are read off the stored record and decide nothing. A run that reads everything consumes a snapshot, whether it is
the first one or had to compare again; a run that reads windows consumes what the inputs have logged.
"""

from __future__ import annotations

from enum import StrEnum

from airflow_refresh_provider.core.run.lifecycle import State
from airflow_refresh_provider.core.run.record import Record, Run


class Phase(StrEnum):
    """What a definition is doing."""

    IDLE = "Idle"
    CONSUMING_SNAPSHOT = "ConsumingSnapshot"
    FINISHING_SNAPSHOT = "FinishingSnapshot"
    INITIALIZING = "InitializingBatchRefresh"
    CONSUMING_LOG = "ConsumingLogStore"
    RESETTING = "Resetting"


def phase(record: Record) -> Phase:
    """Read it off a record."""
    run = record.run
    if record.state is State.RESETTING:
        return Phase.RESETTING
    if run is None:
        return Phase.IDLE
    if run.windows:
        return Phase.CONSUMING_LOG if run.plan.target else Phase.INITIALIZING
    return Phase.FINISHING_SNAPSHOT if run.frozen else Phase.CONSUMING_SNAPSHOT


def told(record: Record, chunks_done: int) -> str:
    """The phase in words, with how far it is."""
    run = record.run
    match phase(record):
        case Phase.IDLE if record.published is None:
            return "nothing has been published yet"
        case Phase.IDLE:
            return "the target is published"
        case Phase.RESETTING:
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
