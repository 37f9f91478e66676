"""Dropping: a definition is removed in whatever state it is, and nobody works on it any more when that is done.

The first write puts the definition into RESETTING under a new generation; from then on its former owner has lost. Only
then are his sessions ended, the slots he could write with fenced, and staging removed. Every step can be repeated, so
a drop that was cut off is finished by the next one. History and counter stay.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from airflow_refresh_provider.core.run.admin_results import Dropped
from airflow_refresh_provider.core.run.lifecycle import Event, State
from airflow_refresh_provider.core.run.ownership import CONTROL, DEFINITION
from airflow_refresh_provider.core.run.record import Record, Run
from airflow_refresh_provider.core.run.recovery import Admission, admit
from airflow_refresh_provider.core.run.results import Outcome
from airflow_refresh_provider.errors import Lost, Refused, StaleSnapshot
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.control import Snapshot
from airflow_refresh_provider.runner.facts import staging_paths, targets
from airflow_refresh_provider.runner.facts.records import owner_liveness, registered
from airflow_refresh_provider.runner.hold import ending
from airflow_refresh_provider.runner.hold.takeover import close, fence_run, sessions, with_new_lease
from airflow_refresh_provider.runner.hold.tenure import WRITE_TRIES, Tenure, commit, contended
from airflow_refresh_provider.runner.report import reports


@dataclass(frozen=True)
class _Reset:
    """One caller's hold on a definition that is being dropped."""

    ports: Ports
    name: str
    generation: int

    def view(self) -> tuple[Snapshot, Record]:
        """The record as stored now. Raises Lost when another drop has taken this one over."""
        snapshot = self.ports.store.read(self.name)
        record = snapshot.record
        if record is None or record.state is not State.RESETTING or record.generation != self.generation:
            raise _overtaken(self.name)
        return snapshot, record


def drop(ports: Ports, name: str, *, delete_target: bool, stop: bool) -> Dropped:
    """Remove a definition; the target stays unless its deletion is asked for, and is only deleted if it is its own.

    Without `stop` it is Refused while somebody works on it, or has parked its run between two of its tasks.
    """
    reset, record = _begin(ports, name, stop=stop)
    run = record.run
    if run:
        _end_run(Tenure(ports, name, run.run_id, reset.generation), run)
    reset.view()
    kept = _not_its_own(ports, record) if delete_target else None
    deleted = delete_target and kept is None
    if deleted:
        ports.staging.drop(record.definition.target)
    _forget(reset)
    staging_paths.drop_orphans(ports, name)
    return Dropped(
        name=name,
        target=record.definition.target,
        target_deleted=deleted,
        kept_because=kept,
        run_abandoned=run.run_id if run and not run.published else None,
    )


def _begin(ports: Ports, name: str, *, stop: bool) -> tuple[_Reset, Record]:
    """Take the definition from whoever has it. Returns the record as it was before."""
    for _ in range(WRITE_TRIES):
        snapshot = ports.store.read(name)
        record = registered(ports, name, snapshot.record)
        if not stop and admit(record, owner_liveness(ports, record), ports.clock.now()) is Admission.BUSY:
            raise _at_work(record)
        generation = targets.next_generation(ports, record)
        run = _taken(ports, record.run, generation) if record.run else None
        with suppress(StaleSnapshot):
            commit(ports, snapshot, record.after(Event.DROP, generation=generation, run=run), Event.DROP)
            return _Reset(ports, name, generation), record
    raise contended(name)


def _taken(ports: Ports, run: Run, generation: int) -> Run:
    """The run in the hands of this process, with the sessions that are still to be ended."""
    return with_new_lease(ports, run, generation).model_copy(update={"left_over": sessions(run)})


def _end_run(tenure: Tenure, old: Run) -> None:
    """Shut everybody out of a run, drop its staging, and say in the history how it ended."""
    ports = tenure.ports
    ports.watch.note(f"run {old.run_id} of {tenure.name} is stopped and given up")
    close(fence_run(tenure, old))
    ports.staging.drop(old.plan.staging)
    ports.store.clear_beats(tenure.name, old.run_id)
    if old.run_id not in {entry.run_id for entry in reports.history(ports, tenure.name)}:
        outcome = Outcome.SUCCEEDED if old.published else Outcome.ABANDONED
        ending.ended(ports, tenure.name, old.run_id, tenure.generation, outcome, "the definition was dropped")


def _forget(reset: _Reset) -> None:
    for _ in range(WRITE_TRIES):
        snapshot, record = reset.view()
        forgotten = record.after(Event.FORGET, run=None, published=None, dropped=True, paused=False)
        with suppress(StaleSnapshot):
            commit(reset.ports, snapshot, forgotten, Event.FORGET)
            return
    raise contended(reset.name)


def _not_its_own(ports: Ports, record: Record) -> str | None:
    """Why a target may not be deleted; None when it says that it belongs to this definition."""
    facts = ports.log.facts(record.definition.target)
    if facts is None:
        return "there is no table"
    if facts.properties.get(CONTROL) != ports.store.control_id:
        return "no refresh of this control root has made it"
    owner = facts.properties.get(DEFINITION)
    return None if owner == record.name else f"it belongs to the definition {owner}"


def _at_work(record: Record) -> Refused:
    assert record.run is not None
    return Refused(
        "already_running",
        f"{record.name} is being refreshed by {record.run.holder}: run {record.run.run_id}",
        next=f"Wait for it, or stop it and drop the definition: `airflow-refresh drop {record.name} --stop`.",
    )


def _overtaken(name: str) -> Lost:
    return Lost(
        "drop_overtaken",
        f"another drop of {name} has gone on with this one",
        left="Nothing of it is lost; the other one finishes it.",
        next=f"See what became of it with `airflow-refresh history {name}`.",
    )
