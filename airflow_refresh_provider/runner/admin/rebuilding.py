"""Rebuilding: what control tables have lost, restored from the target's log.

The cursor is stored first, so that the next refresh is as incremental as it would have been; then the progress rows
of the newest run are written again.
"""

from __future__ import annotations

from airflow_refresh_provider.core.changes.pins import VersionVector
from airflow_refresh_provider.core.log.commits import Commit
from airflow_refresh_provider.core.log.note import NoteKind, read_note
from airflow_refresh_provider.core.log.seal import seals
from airflow_refresh_provider.core.run.admin_results import Rebuilt
from airflow_refresh_provider.core.run.cursor import Restored, restored
from airflow_refresh_provider.core.run.lifecycle import Event
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.core.run.reports import ProgressReport
from airflow_refresh_provider.errors import Invalid
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.table_log import TableFacts
from airflow_refresh_provider.runner.facts import pinned_inputs, targets
from airflow_refresh_provider.runner.facts.records import registered
from airflow_refresh_provider.runner.hold.control_writes import Change, change
from airflow_refresh_provider.runner.report import journal, reports


def rebuild(ports: Ports, name: str) -> Rebuilt:
    """Restore the cursor if it is missing, and the progress of the newest run.

    Raises Invalid when the target was never refreshed, Refused when it is not this definition's.
    """
    definition = registered(ports, name, ports.store.read(name).record).definition
    facts = ports.log.facts(definition.target)
    if facts is None or not targets.highest_generation(ports, facts):
        raise _never_refreshed(name)
    targets.check(ports, definition, facts)
    commits = ports.log.commits(facts.location, after=ports.log.oldest(facts.location) - 1)
    record, found = _restore(ports, name, facts, commits)
    report = ProgressReport(name=name, run_id=None, stage=None)
    if run_id := reports.newest_run(record) or _newest_in_log(commits, name):
        ports.store.add_progress(journal.from_log(commits, facts.table_id, run_id, ports.clock.now()))
        report = reports.report(record, run_id, ports.store.progress(name, run_id), live=False)
    return Rebuilt(**dict(report), restored=found.published is not None, reason=found.reason)


def _restore(ports: Ports, name: str, facts: TableFacts, commits: tuple[Commit, ...]) -> tuple[Record, Restored]:
    """The record with its cursor, and what was found."""
    newest = max(seals(commits, facts.table_id), key=lambda seal: seal.version, default=None)
    found = Restored(reason="the record was not read")

    def decide(stored: Record | None) -> Change:
        nonlocal found
        record = registered(ports, name, stored)
        found = restored(record, facts.table_id, newest, _inputs(ports, record))
        if found.published is None:
            return Change(None, record)
        generation = max(record.generation, targets.highest_generation(ports, facts))
        return Change(Event.REBUILD, record.after(Event.REBUILD, published=found.published, generation=generation))

    return change(ports, name, decide).after, found


def _inputs(ports: Ports, record: Record) -> VersionVector:
    """The newest versions of the inputs, published or not: definitions upstream may not be restored yet."""
    given = record.definition.inputs
    return {name: pinned_inputs.as_it_is(ports, name, read) for name, read in given.items()}


def _newest_in_log(commits: tuple[Commit, ...], name: str) -> str | None:
    """The run of our newest commit, when the control tables have none."""
    notes = (read_note(c.note) for c in reversed(commits))
    return next((n.run for n in notes if n and n.kind is NoteKind.CHUNK and n.definition == name), None)


def _never_refreshed(name: str) -> Invalid:
    return Invalid(
        "no_run",
        f"{name} has never been refreshed",
        next=f"Refresh it first: `airflow-refresh run {name}`.",
    )
