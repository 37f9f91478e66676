"""Definitions: registered, changed, and what is published of them."""

from __future__ import annotations

from collections.abc import Iterable

from airflow_refresh_provider.core.changes.pins import VersionVector
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.definition.mode import Mode, check_mode, row_by_row
from airflow_refresh_provider.core.definition.names import similar
from airflow_refresh_provider.core.query.facts import QueryFacts
from airflow_refresh_provider.core.run.admin_results import Registration, RegistrationOutcome
from airflow_refresh_provider.core.run.lifecycle import Event, State
from airflow_refresh_provider.core.run.measured import Measured
from airflow_refresh_provider.core.run.notice import Notice
from airflow_refresh_provider.core.run.ownership import check_storage
from airflow_refresh_provider.core.run.query_notices import query_notices
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.core.run.reports import Readable
from airflow_refresh_provider.errors import Failed, Refused
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.runner.facts import pinned_inputs, table_places, targets
from airflow_refresh_provider.runner.facts.maintaining import advised_maintenance, unfollowed_reason
from airflow_refresh_provider.runner.facts.records import being_dropped
from airflow_refresh_provider.runner.hold.control_writes import Change, change
from airflow_refresh_provider.runner.report.query_changes import note_change


def register(ports: Ports, definition: Definition) -> Registration:
    """Store a definition, new or changed; a suspended one that has changed is active again. Raises Invalid or Refused.

    An unchanged definition was checked before, and a run checks its inputs and target itself: only the record is read.
    """
    known = ports.store.read(definition.name).record
    if known and _is_stored(known, definition):
        return _registration(known, RegistrationOutcome.UNCHANGED)
    facts = definition.analyse_query()
    check_storage(definition)
    pins = pinned_inputs.pin_published(ports, definition)
    _check_followed(ports, definition, facts, pins)
    others = [record for record in ports.store.records() if record.name != definition.name]
    for other in others:
        if other.definition.target == definition.target:
            raise Refused(
                "target_taken",
                f"the target {definition.target} already belongs to the definition {other.name}",
                next=f"Give {definition.name} another target, or drop {other.name} first.",
            )
    table_places.check(ports, definition, (other.definition for other in others))
    targets.check_fits(ports, definition, facts.columns)

    def decide(stored: Record | None) -> Change:
        if stored and _is_stored(stored, definition):
            return Change(None, stored)
        if stored and stored.state is State.RESETTING:
            raise being_dropped(definition.name)
        base = stored or Record(name=definition.name, definition=definition, facts=facts)
        fresh = base.after(
            Event.REGISTER, definition=definition, facts=facts, dropped=False, suspended=None, failures=0
        )
        if base.definition.hash != definition.hash:
            fresh = fresh.model_copy(update={"trust": None, "measured": Measured()})
        return Change(Event.REGISTER, fresh)

    old, new = change(ports, definition.name, decide)
    if old is new:
        return _registration(new, RegistrationOutcome.UNCHANGED)
    if old is not None and not old.dropped:
        note_change(ports, old, new)
        return _registration(new, RegistrationOutcome.CHANGED)
    return _registration(new, RegistrationOutcome.REGISTERED, _similar(definition.name, others))


def _check_followed(ports: Ports, definition: Definition, facts: QueryFacts, pins: VersionVector | None) -> None:
    """Refuse mode incremental where the changes of an input cannot be followed. Raises Invalid.

    The first refresh asks again: columns of inputs that other definitions have yet to make are not known here.
    """
    if definition.mode is not Mode.INCREMENTAL or row_by_row(facts) or pins is None:
        return
    found, advice = advised_maintenance(ports, definition, pins)
    check_mode(definition.mode, unfollowed_reason(found, definition, pins), [one.text for one in advice])


def _is_stored(record: Record, definition: Definition) -> bool:
    """Whether registering would change nothing."""
    return record.definition == definition and not (record.dropped or record.facts.outdated)


def published(ports: Ports, record: Record) -> Readable:
    """How to read the published refresh, if its table is still in place. Raises Failed where there is none."""
    done = record.published
    if done is None:
        raise _not_published(record, f"{record.name} has not been refreshed yet")
    if why := targets.replaced_reason(ports, done, record.definition.target):
        raise _not_published(record, why)
    version = targets.readable_version(ports, done, record.definition.target)
    until = ports.log.readable_until(record.definition.target, version)
    return Readable(definition=record.definition, version=version, until=until)


def _not_published(record: Record, why: str) -> Failed:
    return Failed(
        "not_published",
        why,
        left="There is no version to read.",
        next=f"Refresh it: `airflow-refresh run {record.name}`.",
    )


def _similar(name: str, others: Iterable[Record]) -> tuple[Notice, ...]:
    """A notice where a new definition may be an old one under another spelling: both would be refreshed."""
    found = similar(name, (other.name for other in others))
    why = f"{', '.join(found)} is registered too: if one replaces the other, drop that one"
    return (Notice(code="similar_name", message=why),) if found else ()


def _registration(record: Record, outcome: RegistrationOutcome, notices: tuple[Notice, ...] = ()) -> Registration:
    definition = record.definition
    return Registration(
        name=definition.name,
        target=definition.target,
        outcome=outcome,
        definition_hash=definition.hash,
        notices=(*query_notices(definition, record.facts), *notices),
    )
