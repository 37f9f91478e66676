"""How far the published refresh of a definition is behind each of its inputs: read from logs, without Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from airflow_refresh_provider.core.changes.history import InputHistory
from airflow_refresh_provider.core.changes.pins import Pin, VersionVector
from airflow_refresh_provider.core.run.record import Published, Record
from airflow_refresh_provider.core.run.reports import InputLag
from airflow_refresh_provider.core.timing.due import Behind, lag
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.runner.facts import pinned_inputs, targets
from airflow_refresh_provider.runner.windows import change_windows


@dataclass(frozen=True)
class InputsNow:
    """The newest versions of a published definition's inputs, what happened to them since, and what was not applied."""

    pins: VersionVector
    histories: Mapping[str, InputHistory | None]
    behind: tuple[Behind, ...]

    def confirmed_at(self, now: datetime) -> datetime:
        """The target has all changes that its inputs had then."""
        return now - lag(now, self.behind)

    @cached_property
    def kept(self) -> dict[str, datetime]:
        """Until when the changes of each input that were not applied can be read; those that do not expire left out."""
        ends = {name: history.readable_until for name, history in self.histories.items() if history}
        return {name: end for name, end in ends.items() if end is not None}

    @cached_property
    def kept_until(self) -> datetime | None:
        """Until when all changes that were not applied can be read; None where they do not expire."""
        return min(self.kept.values(), default=None)


def inputs_now(ports: Ports, record: Record, published: Published) -> InputsNow:
    """Read the inputs of a definition that was refreshed before. Raises as `pin`."""
    pins = _newest_pins(ports, record, published)
    histories = change_windows.histories(ports, published.pins, pins)
    spans = ((n, _span(published, published.pins.get(n), pin, histories.get(n))) for n, pin in pins.items())
    given = record.definition.inputs
    behind = (
        Behind(name=name, applied_at=span[0], oldest=span[1], newest=span[2], triggers=given[name].trigger)
        for name, span in spans
        if span
    )
    return InputsNow(pins, histories, tuple(behind))


def input_lags(ports: Ports, published: Published, found: InputsNow, now: datetime) -> tuple[InputLag, ...]:
    """The lag of each input."""
    behind = {b.name: b for b in found.behind}

    def lag_of(name: str, pin: Pin) -> InputLag:
        applied, history = published.pins.get(name), found.histories.get(name)
        until = history.readable_until if history else None
        return InputLag(
            name=name,
            applied=applied.digest if applied else None,
            newest=pin.digest,
            lag_seconds=lag(now, [behind[name]] if name in behind else []).total_seconds(),
            kept_until=until,
            expired=until is not None and until <= now,
            upstream=upstream(ports, pin),
        )

    return tuple(lag_of(name, pin) for name, pin in found.pins.items())


def upstream(ports: Ports, pin: Pin) -> str | None:
    """The definition of this control root whose target an input is."""
    facts = ports.log.identity(pin.location) if pin.table_id else None
    record = targets.owner(ports, facts) if facts else None
    return record.name if record else None


def _newest_pins(ports: Ports, record: Record, published: Published) -> VersionVector:
    """The newest versions of the inputs, and the applied ones of those whose changes are ignored."""
    applied, given = published.pins, record.definition.inputs
    ignored = {name: applied[name] for name, read in given.items() if read.ignore_changes and name in applied}
    counting = {name: read for name, read in given.items() if name not in ignored}
    return pinned_inputs.pin(ports, record.definition.model_copy(update={"inputs": counting})) | ignored


def _span(
    published: Published, applied: Pin | None, pin: Pin, history: InputHistory | None
) -> tuple[datetime, datetime, datetime] | None:
    """(time of the applied version, of the oldest and of the newest change since); None without a change.

    Without a history, as of a table that was replaced or restored, changes count from the last refresh on.
    """
    if applied is not None and pin.same_as(applied):
        return None
    if applied is not None and (times := pin.changed_file_times(applied)) is not None:
        return _file_span(published, times)
    if history is not None:
        if not history.changes:
            return None
        return history.applied_at or published.at, history.changes[0].at, history.changes[-1].at
    return published.at, published.at, published.at


def _file_span(published: Published, times: tuple[datetime, ...]) -> tuple[datetime, datetime, datetime]:
    """As `_span`. A file that was not there when the last refresh started was added later, whatever its time says."""
    if not times:
        return published.at, published.at, published.at  # files were only deleted, and no record says when
    since = published.started_at or published.at
    return published.at, max(since, min(times)), max(since, *times)
