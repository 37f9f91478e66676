"""What a definition, its inputs and its target are now: read once, for every report. Needs no Spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from airflow_refresh_provider.core.run.owner import Liveness
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.core.timing.due import lag
from airflow_refresh_provider.errors import RefreshError
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.read_once import reading_once
from airflow_refresh_provider.runner.facts import readable, targets
from airflow_refresh_provider.runner.facts.records import owner_liveness
from airflow_refresh_provider.runner.report.input_lags import InputsNow, inputs_now

T = TypeVar("T")

_AT_ONCE = 8
"""Definitions that are looked at in parallel."""


@dataclass(frozen=True)
class Observation:
    """A definition at a moment. Of one that was never refreshed, neither inputs nor target are looked at.

    `replaced`: why the target is not the table that the last refresh wrote. `overwritten`: why it may have other rows.
    `inputs` is None where the target was replaced, or where the `error` was met. `readable_until`: from then on Spark
    refuses the version of the last refresh that readers have. `view_expires`: soon, and a refresh gives it a newer one.
    """

    record: Record
    now: datetime
    liveness: Liveness
    replaced: str | None = None
    overwritten: str | None = None
    inputs: InputsNow | None = None
    readable_until: datetime | None = None
    view_expires: bool = False
    error: RefreshError | None = None

    @property
    def lag_seconds(self) -> float | None:
        """How far the target is behind its inputs; None when that is not known."""
        return lag(self.now, self.inputs.behind).total_seconds() if self.inputs else None

    @property
    def live(self) -> bool:
        """Whether a run is in progress: it has an owner, or is kept for its next task."""
        run = self.record.run
        if run is None:
            return False
        return self.liveness.is_running or (self.liveness.may_be_kept and run.kept_until(self.now) is not None)

    def still_of(self, record: Record) -> bool:
        """Whether it is one of what a record says now: the same definition with the same refresh published.

        One that was made during a run does not say what others have written; after the run that counts.
        """
        if record is self.record:
            return True
        before, now = self.record, record
        same = before.definition == now.definition and before.published == now.published
        return same and (before.run is None or now.run is not None)

    def at(self, record: Record, now: datetime, liveness: Liveness) -> Observation:
        """The same facts of inputs and target at a later moment, by which a target can have become late."""
        return replace(self, record=record, now=now, liveness=liveness)

    def must_be_readable(self) -> None:
        """Raises the error that was met, with the name of the definition."""
        if self.error:
            raise self.error.about(self.record.name) from self.error


def observe(ports: Ports, record: Record) -> Observation:
    """Read what a definition's inputs and target are. An error of theirs is in the result."""
    now, liveness, published = ports.clock.now(), owner_liveness(ports, record), record.published
    if published is None:
        return Observation(record, now, liveness)
    try:
        facts = ports.log.facts(record.definition.target)
        if facts is None or facts.table_id != published.target_id:
            why = targets.replaced_reason(ports, published, record.definition.target)
            return Observation(record, now, liveness, replaced=why)
        overwritten = None if record.run else targets.changed_reason(ports, published, facts)
        found = inputs_now(ports, record, published)
        version = readable.readability(ports, record.definition, published, facts.version)
        return Observation(
            record,
            now,
            liveness,
            overwritten=overwritten,
            inputs=found,
            readable_until=version.until,
            view_expires=version.view_expires and overwritten is None,
        )
    except RefreshError as error:
        return Observation(record, now, liveness, error=error)


def look(ports: Ports, record: Record) -> Observation:
    """As `observe`, by a view of its own: each table is opened once."""
    return observe(reading_once(ports), record)


def for_each(look: Callable[[Record], T], records: Sequence[Record]) -> list[T]:
    """Look at several definitions in parallel, as most of the time is spent waiting for storage; in their order."""
    with ThreadPoolExecutor(max_workers=_AT_ONCE, thread_name_prefix="look") as pool:
        return list(pool.map(look, records))
