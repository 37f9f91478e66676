"""Whether a refresh is due, and how far a target is behind: read from control tables and logs, without Spark."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from statistics import median

from airflow_refresh_provider.core.due import Behind, Cause, DueDecision, DueFacts, due, is_late, lag
from airflow_refresh_provider.core.history import InputHistory
from airflow_refresh_provider.core.owner import Liveness
from airflow_refresh_provider.core.ownership import CONTROL, DEFINITION
from airflow_refresh_provider.core.pins import DeltaPin, FilesPin, Pin, VersionVector, same_versions
from airflow_refresh_provider.core.record import Published, Record
from airflow_refresh_provider.core.results import DueReport, Freshness, InputLag, Outcome
from airflow_refresh_provider.errors import RefreshError
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.runner import inputs, reports, windows
from airflow_refresh_provider.runner.start import judge, known

_JUDGED_BY = 5
"""So many of the newest refreshes say how long the next may take."""


def report_due(ports: Ports, name: str) -> DueReport:
    """Whether a refresh of a definition is due now. Raises Invalid for an unknown name or a missing input."""
    record = known(name, ports.store.read(name).record)
    now = ports.clock.now()
    behind = tuple(_behind(ports, record, newest_pins(ports, record))) if record.published else ()
    decision = due(
        DueFacts(
            now=now,
            schedule=record.definition.refresh,
            refreshed_at=record.published.at if record.published else None,
            behind=behind,
            resting=_resting(ports, record),
            ready=_ready(record),
        )
    )
    return DueReport(
        name=name,
        due=decision.cause.due,
        cause=decision.cause.value,
        reason=_told(record, decision, behind),
        next_at=decision.next_at,
        lag_seconds=lag(now, behind).total_seconds() if record.published else None,
    )


def freshness(ports: Ports, record: Record) -> Freshness:
    """How far the target of a definition is behind its inputs."""
    now, published = ports.clock.now(), record.published
    wanted = record.definition.refresh.target_lag
    if published is None:
        return Freshness(
            name=record.name,
            confirmed_at=None,
            lag_seconds=None,
            target_lag_seconds=wanted.total_seconds() if wanted else None,
            late=is_late(record.definition.refresh, None),
            ready_in_seconds=None,
        )
    pins = newest_pins(ports, record)
    behind = {b.name: b for b in _behind(ports, record, pins)}
    age = lag(now, behind.values())
    return Freshness(
        name=record.name,
        confirmed_at=now - age,
        lag_seconds=age.total_seconds(),
        target_lag_seconds=wanted.total_seconds() if wanted else None,
        late=is_late(record.definition.refresh, age.total_seconds()),
        ready_in_seconds=_usual_seconds(ports, record.name),
        inputs=tuple(_input_lag(ports, published, name, pin, behind.get(name), now) for name, pin in pins.items()),
    )


def lag_seconds(ports: Ports, record: Record) -> float | None:
    """How far a target is behind now; None when that cannot be told."""
    if record.published is None:
        return None
    with suppress(RefreshError):
        return lag(ports.clock.now(), _behind(ports, record, newest_pins(ports, record))).total_seconds()
    return None


def newest_pins(ports: Ports, record: Record) -> VersionVector:
    """What the inputs are now, those whose changes are not looked for left as they were applied."""
    applied = record.published.pins if record.published else {}
    ignored = {n: applied[n] for n, read in record.definition.inputs.items() if read.ignore_changes and n in applied}
    looked_at = {n: read for n, read in record.definition.inputs.items() if n not in ignored}
    return inputs.pin(ports, record.definition.model_copy(update={"inputs": looked_at})) | ignored


def _behind(ports: Ports, record: Record, pins: VersionVector) -> list[Behind]:
    """The inputs with changes that were not applied."""
    published = record.published
    assert published is not None
    histories = windows.histories(ports, published.pins, pins)
    found = []
    for name, pin in pins.items():
        span = _span(published, published.pins.get(name), pin, histories.get(name))
        if span:
            applied_at, oldest, newest = span
            triggers = record.definition.inputs[name].trigger
            found.append(Behind(name=name, applied_at=applied_at, oldest=oldest, newest=newest, triggers=triggers))
    return found


def _span(
    published: Published, applied: Pin | None, pin: Pin, history: InputHistory | None
) -> tuple[datetime, datetime, datetime] | None:
    """(when the applied state was made, the oldest and the newest change since); None without a change.

    Where no log tells, as of a table that was made anew or put back in time, changes count from the last refresh on.
    """
    if applied is not None and same_versions({"": applied}, {"": pin}):
        return None
    if history is not None:
        if not history.changes:
            return None
        return history.applied_at or published.at, history.changes[0].at, history.changes[-1].at
    if isinstance(pin, FilesPin) and isinstance(applied, FilesPin):
        return _file_span(published, applied, pin)
    return published.at, published.at, published.at


def _file_span(published: Published, applied: FilesPin, pin: FilesPin) -> tuple[datetime, datetime, datetime]:
    known_before = set(applied.files)
    fresh = [f.modified for f in pin.files if f not in known_before]
    if not fresh:
        return published.at, published.at, published.at  # files have gone, and nobody noted when
    zone = published.at.tzinfo
    return published.at, datetime.fromtimestamp(min(fresh) / 1e6, zone), datetime.fromtimestamp(max(fresh) / 1e6, zone)


def _resting(ports: Ports, record: Record) -> Cause | None:
    if record.suspended:
        return Cause.SUSPENDED
    if record.paused:
        return Cause.PAUSED
    return Cause.RUNNING if judge(ports, record) is Liveness.LIVE else None


def _ready(record: Record) -> Cause | None:
    if record.run is not None:
        return Cause.INTERRUPTED
    if record.published is None:
        return Cause.FIRST
    return Cause.REDEFINED if record.published.definition_hash != record.definition.hash else None


def _told(record: Record, decision: DueDecision, behind: tuple[Behind, ...]) -> str:
    waiting = ", ".join(f"{b.name} since {b.oldest:%Y-%m-%d %H:%M:%S} UTC" for b in behind)
    match decision.cause:
        case Cause.FIRST:
            return "it has never been refreshed"
        case Cause.REDEFINED:
            return "its definition has changed since the last refresh"
        case Cause.INTERRUPTED:
            return "a refresh was left unfinished"
        case Cause.NOTHING_NEW:
            return "no input has changed a row since the last refresh"
        case Cause.MANUAL:
            return "it is refreshed by hand only" + (f"; changes wait: {waiting}" if waiting else "")
        case Cause.RUNNING:
            return "it is being refreshed"
        case Cause.PAUSED:
            return "it is paused"
        case Cause.SUSPENDED:
            return f"it is suspended: {record.suspended}"
        case _:
            return f"changes wait: {waiting}"


def _input_lag(
    ports: Ports, published: Published, name: str, pin: Pin, behind: Behind | None, now: datetime
) -> InputLag:
    applied = published.pins.get(name)
    history = windows.histories(ports, published.pins, {name: pin}).get(name) if behind else None
    return InputLag(
        name=name,
        applied=applied.digest if applied else None,
        newest=pin.digest,
        lag_seconds=lag(now, [behind] if behind else []).total_seconds(),
        kept_until=history.readable_until if history else None,
        upstream=_upstream(ports, pin),
    )


def _upstream(ports: Ports, pin: Pin) -> str | None:
    """The definition of this control root whose target an input is."""
    facts = ports.log.facts(pin.location) if isinstance(pin, DeltaPin) else None
    if facts is None or facts.properties.get(CONTROL) != ports.store.control_id:
        return None
    return facts.properties.get(DEFINITION)


def _usual_seconds(ports: Ports, name: str) -> float | None:
    done = [e.result.seconds for e in reports.history(ports, name) if e.outcome is Outcome.SUCCEEDED and e.result]
    return round(median(done[:_JUDGED_BY]), 3) if done else None
