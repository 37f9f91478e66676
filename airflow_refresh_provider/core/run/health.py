"""How a table is, in one word: derived from its record, its run, and what its inputs and its target are now."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from airflow_refresh_provider.core.run.lifecycle import State
from airflow_refresh_provider.core.run.record import Record


class Health(StrEnum):
    """How a table is; the first that holds counts."""

    DROPPING = "dropping"
    RUNNING = "running"
    PAUSED = "paused"  # its run, if any, is kept
    WAITING = "waiting"  # its run is between two tasks
    SUSPENDED = "suspended"
    FAILED = "failed"  # the last run failed, and the target is not up to date
    CANCELLED = "cancelled"  # a person has cancelled a run, which the next caller resumes or abandons
    INTERRUPTED = "interrupted"  # a run was not finished; the next caller resumes it
    BUDGET_SPENT = "budget_spent"  # a run was stopped, and the next one continues it
    NOT_PUBLISHED = "not_published"
    UNKNOWN = "unknown"  # an input, or the target, cannot be read
    REPLACED = "replaced"  # the target is gone, or is another table
    OVERWRITTEN = "overwritten"  # another writer, or a run that was abandoned, has changed rows of the target
    REDEFINED = "redefined"  # the definition has changed since the last refresh
    LATE = "late"  # behind by more than its target_lag
    BEHIND = "behind"
    FRESH = "fresh"


@dataclass(frozen=True)
class HealthFacts:
    """What is known besides the record. `lag_seconds` is None where it was not looked at, or could not be."""

    live: bool = False
    kept: bool = False
    replaced: bool = False
    overwritten: bool = False
    unreadable: bool = False
    lag_seconds: float | None = None
    late: bool = False


def health(record: Record, facts: HealthFacts) -> Health:
    """How the table of a definition is."""
    if record.state is State.RESETTING:
        return Health.DROPPING
    if record.run is not None and facts.live:
        return Health.RUNNING
    if record.paused:
        return Health.PAUSED
    if record.run is not None and facts.kept:
        return Health.WAITING
    if record.suspended:
        return Health.SUSPENDED
    found = _of_the_target(record, facts)
    failed = record.last_run is not None and record.last_run.failed
    if record.run is not None and record.run.cancelled:
        return Health.CANCELLED
    if record.run is not None:
        if record.run.stopped:
            return Health.BUDGET_SPENT
        return Health.FAILED if failed and record.run.failed_in == record.run.generation else Health.INTERRUPTED
    return Health.FAILED if failed and found is not Health.FRESH else found


def _of_the_target(record: Record, facts: HealthFacts) -> Health:
    if record.published is None:
        return Health.NOT_PUBLISHED
    if facts.unreadable:
        return Health.UNKNOWN
    if facts.replaced or facts.overwritten:
        return Health.REPLACED if facts.replaced else Health.OVERWRITTEN
    if record.published.definition_hash != record.definition.hash:
        return Health.REDEFINED
    if facts.late or facts.lag_seconds:
        return Health.LATE if facts.late else Health.BEHIND
    return Health.FRESH
