"""Whether a refresh is due, and how far a target is behind: read from control tables and logs, without Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

from airflow_refresh_provider.core.changes.history import InputHistory
from airflow_refresh_provider.core.changes.pins import Pin, VersionVector
from airflow_refresh_provider.core.run.record import Published, Record
from airflow_refresh_provider.core.run.reports import DueReport, Freshness, InputLag
from airflow_refresh_provider.core.run.results import ErrorReport, Outcome
from airflow_refresh_provider.core.timing.due import Behind, Cause, DueDecision, DueFacts, describe, due, is_late, lag
from airflow_refresh_provider.errors import Failed, Invalid, RefreshError, Refused
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.runner.facts import pinned_inputs, targets
from airflow_refresh_provider.runner.facts.records import owner_liveness, registered
from airflow_refresh_provider.runner.report import reports
from airflow_refresh_provider.runner.windows import change_windows

_LOOK_AGAIN = timedelta(seconds=15)
"""When to look again at an input that is being refreshed."""

_JUDGED_BY = 5
"""So many of the newest refreshes say how long the next may take."""


@dataclass(frozen=True)
class _Look:
    """One look at the inputs of a definition that was refreshed before: what they are, and what was not applied."""

    pins: VersionVector
    histories: Mapping[str, InputHistory | None]
    behind: tuple[Behind, ...]


def report_due(ports: Ports, name: str) -> DueReport:
    """Whether a refresh of a definition is due now. Raises Invalid for an unknown name or a missing input."""
    record = registered(ports, name, ports.store.read(name).record)
    now, published, blocked = ports.clock.now(), record.published, _blocked(ports, record)
    behind = _behind(ports, record, tolerant=blocked is not None)
    ready = _ready(ports, record)
    decision = due(
        DueFacts(
            now=now,
            schedule=record.definition.refresh,
            refreshed_at=published.started_at or published.at if published else None,
            behind=(*behind, *_clock(record)),
            blocked=blocked,
            ready=ready,
        )
    )
    reason = describe(decision.cause, behind, record.suspended, ready)
    if decision.cause is Cause.NOTHING_NEW and (running := _being_refreshed(ports, record, now)):
        decision = DueDecision(Cause.INPUT_RUNNING, now + _LOOK_AGAIN)
        reason = f"its input {running} is being refreshed"
    return DueReport(
        name=name,
        due=decision.cause.due,
        cause=decision.cause.value,
        reason=reason,
        next_at=decision.next_at,
        lag_seconds=lag(now, behind).total_seconds() if published else None,
    )


def _behind(ports: Ports, record: Record, *, tolerant: bool) -> tuple[Behind, ...]:
    """The inputs with changes that were not applied; `tolerant`: none where they cannot be looked at."""
    if record.published is None:
        return ()
    try:
        with _told_of(record.name):
            return _look(ports, record, record.published).behind
    except (Invalid, Refused, Failed):
        if tolerant:
            return ()
        raise


def freshness(ports: Ports, record: Record, *, why: bool) -> Freshness:
    """How far the target of a definition is behind its inputs; `why` tells it of each of them. Raises as `pin`."""
    with _told_of(record.name):
        return _freshness(ports, record, why=why)


def freshness_or_error(ports: Ports, record: Record, *, why: bool) -> Freshness:
    """As `freshness`, with the error in the answer: one definition that cannot be looked at hides no other."""
    try:
        return _freshness(ports, record, why=why)
    except RefreshError as error:
        return Freshness(name=record.name, target_lag_seconds=_wanted(record), error=ErrorReport.of(error))


@contextmanager
def _told_of(name: str) -> Iterator[None]:
    """An error of a look names the definition that was looked at."""
    try:
        yield
    except RefreshError as error:
        raise error.about(name) from error


def _freshness(ports: Ports, record: Record, *, why: bool) -> Freshness:
    now, published, schedule = ports.clock.now(), record.published, record.definition.refresh
    not_left = targets.replaced_reason(ports, published, record.definition.target) if published else None
    look = _look(ports, record, published) if published and not not_left else None
    age = lag(now, look.behind) if look else None
    return Freshness(
        name=record.name,
        nothing_to_read=not_left,
        confirmed_at=now - age if age is not None else None,
        lag_seconds=age.total_seconds() if age is not None else None,
        target_lag_seconds=_wanted(record),
        late=is_late(schedule, age.total_seconds() if age is not None else None),
        ready_in_seconds=_usual_seconds(ports, record.name),
        inputs=_input_lags(ports, published, look, now) if published and look and why else (),
    )


def lag_seconds(ports: Ports, record: Record) -> float | None:
    """How far a target that was just refreshed is behind now; None when that cannot be told."""
    if record.published is None:
        return None
    with suppress(RefreshError):
        return lag(ports.clock.now(), _look(ports, record, record.published).behind).total_seconds()
    return None


def _look(ports: Ports, record: Record, published: Published) -> _Look:
    pins = _newest_pins(ports, record, published)
    histories = change_windows.histories(ports, published.pins, pins)
    spans = ((n, _span(published, published.pins.get(n), pin, histories.get(n))) for n, pin in pins.items())
    given = record.definition.inputs
    behind = (
        Behind(name=name, applied_at=span[0], oldest=span[1], newest=span[2], triggers=given[name].trigger)
        for name, span in spans
        if span
    )
    return _Look(pins, histories, tuple(behind))


def _newest_pins(ports: Ports, record: Record, published: Published) -> VersionVector:
    """What the inputs are now, those whose changes are not looked for left as they were applied."""
    applied, given = published.pins, record.definition.inputs
    ignored = {name: applied[name] for name, read in given.items() if read.ignore_changes and name in applied}
    looked_at = {name: read for name, read in given.items() if name not in ignored}
    return pinned_inputs.pin(ports, record.definition.model_copy(update={"inputs": looked_at})) | ignored


def _clock(record: Record) -> tuple[Behind, ...]:
    """The clock counts as an input that has changed since the last refresh, where the query reads it.

    Nobody commits to it, so it does not begin a refresh on change; nor is a target ever behind it.
    """
    published = record.published
    if published is None or not published.clocked or record.definition.refresh.on_change:
        return ()
    return (Behind(name="the clock", applied_at=published.at, oldest=published.at, newest=published.at),)


def _span(
    published: Published, applied: Pin | None, pin: Pin, history: InputHistory | None
) -> tuple[datetime, datetime, datetime] | None:
    """(when the applied state was made, the oldest and the newest change since); None without a change.

    Where no log tells, as of a table that was made anew or put back in time, changes count from the last refresh on.
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


def _blocked(ports: Ports, record: Record) -> Cause | None:
    if record.suspended:
        return Cause.SUSPENDED
    if record.paused:
        return Cause.PAUSED
    return Cause.RUNNING if owner_liveness(ports, record).is_running else None


def _ready(ports: Ports, record: Record) -> Cause | None:
    published = record.published
    if record.run is not None:
        return Cause.INTERRUPTED
    if published is None:
        return Cause.FIRST
    if published.definition_hash != record.definition.hash:
        return Cause.REDEFINED
    return None if targets.as_published(ports, published, record.definition.target) else Cause.OVERWRITTEN


def _input_lags(ports: Ports, published: Published, look: _Look, now: datetime) -> tuple[InputLag, ...]:
    behind = {b.name: b for b in look.behind}

    def lag_of(name: str, pin: Pin) -> InputLag:
        applied, history = published.pins.get(name), look.histories.get(name)
        return InputLag(
            name=name,
            applied=applied.digest if applied else None,
            newest=pin.digest,
            lag_seconds=lag(now, [behind[name]] if name in behind else []).total_seconds(),
            kept_until=history.readable_until if history else None,
            upstream=_upstream(ports, pin),
        )

    return tuple(lag_of(name, pin) for name, pin in look.pins.items())


def _upstream(ports: Ports, pin: Pin) -> str | None:
    """The definition of this control root whose target an input is."""
    facts = ports.log.facts(pin.location) if pin.table_id else None
    record = targets.owner(ports, facts) if facts else None
    return record.name if record else None


def _being_refreshed(ports: Ports, record: Record, now: datetime) -> str | None:
    """An input that is the target of a definition whose refresh is under way: what it has committed is not seen yet.

    Only where changes begin refreshes is that waited for; any other schedule comes again by itself.
    """
    if not record.definition.refresh.on_change:
        return None
    pins = record.published.pins if record.published else {}
    for name, read in record.definition.inputs.items():
        if read.ignore_changes or not read.trigger or name not in pins:
            continue
        feeder = _upstream(ports, pins[name])
        upstream = ports.store.read(feeder).record if feeder else None
        run = upstream.run if upstream else None
        if upstream and run and (run.kept_until(now) or owner_liveness(ports, upstream).is_running):
            return name
    return None


def _wanted(record: Record) -> float | None:
    allowed = record.definition.refresh.target_lag
    return allowed.total_seconds() if allowed else None


def _usual_seconds(ports: Ports, name: str) -> float | None:
    done = [e.result.seconds for e in reports.history(ports, name) if e.outcome is Outcome.SUCCEEDED and e.result]
    return round(median(done[:_JUDGED_BY]), 3) if done else None
