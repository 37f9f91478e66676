"""Definitions: registered, changed, shown."""

from __future__ import annotations

from contextlib import suppress

from airflow_refresh_provider.core.changes.pins import digests, ignored_files
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.run.admin_results import Registration, RegistrationOutcome
from airflow_refresh_provider.core.run.lifecycle import Event, State
from airflow_refresh_provider.core.run.owner import Liveness
from airflow_refresh_provider.core.run.ownership import check_storage
from airflow_refresh_provider.core.run.query_notes import query_notes
from airflow_refresh_provider.core.run.record import Record, Run
from airflow_refresh_provider.core.run.reports import DefinitionStatus, Readable, RunStatus
from airflow_refresh_provider.core.run.status import status as status_of
from airflow_refresh_provider.core.run.status import status_text
from airflow_refresh_provider.errors import Failed, RefreshError, Refused
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.runner.facts import pinned_inputs, table_places, targets
from airflow_refresh_provider.runner.facts.records import being_dropped, owner_liveness
from airflow_refresh_provider.runner.hold.control_writes import Change, change
from airflow_refresh_provider.runner.report import reports

_NOT_KEPT = (Liveness.ORPHANED, Liveness.ORIGIN_FINISHED)
"""Owners whose run is not kept for later tasks of its origin: there are none."""


def register(ports: Ports, definition: Definition) -> Registration:
    """Store a definition, new or changed; a suspended one that has changed is active again. Raises Invalid or Refused.

    An unchanged definition was checked before, and a run checks its inputs and target itself: only the record is read.
    """
    known = ports.store.read(definition.name).record
    if known and _is_stored(known, definition):
        return _registration(known, RegistrationOutcome.UNCHANGED)
    facts = definition.analyse_query()
    check_storage(definition)
    pinned_inputs.check(ports, definition)
    others = [record for record in ports.store.records() if record.name != definition.name]
    for other in others:
        if other.definition.target == definition.target:
            raise Refused(
                "target_taken",
                f"the target {definition.target} already belongs to the definition {other.name}",
                next=f"Give {definition.name} another target, or drop {other.name} first.",
            )
    table_places.check(ports, definition, (other.definition for other in others))
    targets.check_kept(ports, definition)

    def decide(stored: Record | None) -> Change:
        if stored and _is_stored(stored, definition):
            return Change(None, stored)
        if stored and stored.state is State.RESETTING:
            raise being_dropped(definition.name)
        base = stored or Record(name=definition.name, definition=definition, facts=facts)
        fresh = base.after(
            Event.REGISTER, definition=definition, facts=facts, dropped=False, suspended=None, failures=0
        )
        return Change(Event.REGISTER, fresh)

    old, new = change(ports, definition.name, decide)
    if old is new:
        return _registration(new, RegistrationOutcome.UNCHANGED)
    changed = old is not None and not old.dropped
    return _registration(new, RegistrationOutcome.CHANGED if changed else RegistrationOutcome.REGISTERED)


def _is_stored(record: Record, definition: Definition) -> bool:
    """Whether registering would change nothing."""
    return record.definition == definition and not (record.dropped or record.facts.outdated)


def status(ports: Ports, record: Record) -> DefinitionStatus:
    """The status of a definition."""
    published = record.published
    run = _run_status(ports, record, record.run) if record.run else None
    return DefinitionStatus(
        name=record.name,
        target=record.definition.target,
        state=record.state.value,
        status=status_of(record),
        status_text=status_text(record, run.chunks_done if run else 0),
        suspended=record.suspended,
        paused=record.paused,
        generation=record.generation,
        run=run,
        published_version=published.version if published else None,
        published_at=published.at if published else None,
        input_versions=digests(published.pins) if published else {},
        ignored_files=ignored_files(published.pins) if published else {},
        definition_hash=record.definition.hash,
        definition=record.definition,
    )


def shown(ports: Ports, record: Record) -> DefinitionStatus:
    """As `status`, with notes on the query; its target, if there is one, says what types the columns have."""
    table = None
    with suppress(RefreshError):  # the status can be shown where the target's storage does not answer
        table = ports.log.facts(record.definition.target) if record.facts.float_sums else None
    notes = query_notes(record.definition, record.facts, table.floating if table else None)
    return status(ports, record).model_copy(update={"notes": notes})


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


def _run_status(ports: Ports, record: Record, run: Run) -> RunStatus:
    how_far = reports.report(record, run.run_id, ports.store.progress(record.name, run.run_id))
    liveness = owner_liveness(ports, record)
    return RunStatus(
        run_id=run.run_id,
        stage=reports.stage_of(run),
        owner=run.lease.owner.label if run.lease.owner else None,
        live=liveness.is_running,
        origin=run.origin,
        kept_until=None if liveness in _NOT_KEPT else run.kept_until(ports.clock.now()),
        started_at=run.started_at,
        generation=run.generation,
        attempts=run.attempts,
        chunks_done=how_far.chunks_done,
        chunks_total=how_far.chunks_total,
    )


def _not_published(record: Record, why: str) -> Failed:
    return Failed(
        "not_published",
        why,
        left="There is no version to read.",
        next=f"Refresh it: `airflow-refresh run {record.name}`.",
    )


def _registration(record: Record, outcome: RegistrationOutcome) -> Registration:
    definition = record.definition
    return Registration(
        name=definition.name,
        target=definition.target,
        outcome=outcome,
        definition_hash=definition.hash,
        notes=query_notes(definition, record.facts),
    )
