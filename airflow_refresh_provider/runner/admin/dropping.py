"""Dropping: a definition is removed in whatever state it is, and no process can work on it any more afterwards.

The first write puts the definition into RESETTING under a new generation; from then on its former owner has lost. Only
then are its sessions released, the slots that it could write with fenced, and staging removed. Every step can be
repeated, so an interrupted drop is finished by the next one. History and counter stay.
"""

from __future__ import annotations

from dataclasses import dataclass

from airflow_refresh_provider.core.run.admin_results import Dropped
from airflow_refresh_provider.core.run.lifecycle import Event, State
from airflow_refresh_provider.core.run.ownership import CONTROL, DEFINITION
from airflow_refresh_provider.core.run.record import Record, Run
from airflow_refresh_provider.core.run.recovery import Admission, admit
from airflow_refresh_provider.core.run.results import Outcome
from airflow_refresh_provider.errors import Lost, Refused
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.runner.facts import staging_paths, targets
from airflow_refresh_provider.runner.facts.ended_runs import ended_run
from airflow_refresh_provider.runner.facts.records import owner_liveness, registered
from airflow_refresh_provider.runner.hold import run_ends
from airflow_refresh_provider.runner.hold.control_writes import Change, change
from airflow_refresh_provider.runner.hold.fence import fence_run
from airflow_refresh_provider.runner.hold.leases import with_new_lease
from airflow_refresh_provider.runner.hold.run_sessions import close, sessions_of
from airflow_refresh_provider.runner.hold.tenure import Tenure

_FINAL = (Outcome.SUCCEEDED, Outcome.ABANDONED)


@dataclass(frozen=True)
class _Reset:
    """One caller's hold on a definition that is being dropped."""

    ports: Ports
    name: str
    generation: int

    def check(self, record: Record | None) -> Record:
        """The record, if this drop holds it. Raises Lost when another drop has taken it over."""
        if record is None or record.state is not State.RESETTING or record.generation != self.generation:
            raise _overtaken(self.name)
        return record


def drop(ports: Ports, name: str, *, delete_target: bool, stop: bool) -> Dropped:
    """Remove a definition. The target stays, unless its deletion is requested and it belongs to this definition.

    Without `stop` it is Refused while an owner is running, or the run is parked between two of its tasks.
    """
    reset, record = _begin(ports, name, stop=stop)
    run = record.run
    if run:
        _end_run(Tenure(ports, name, run.run_id, reset.generation), run)
    reset.check(ports.store.read(name).record)
    kept = _not_its_own(ports, record) if delete_target else None
    deleted = delete_target and kept is None
    left = ports.folders.delete_table(record.definition.target) if deleted else ()
    _forget(reset)
    staging_paths.drop_orphans(ports, name)
    return Dropped(
        name=name,
        target=record.definition.target,
        target_deleted=deleted,
        kept_reason=kept,
        files_left=len(left),
        left_example=left[0] if left else None,
        run_abandoned=run.run_id if run and not run.published else None,
    )


def _begin(ports: Ports, name: str, *, stop: bool) -> tuple[_Reset, Record]:
    """Take the definition over from its owner, if any. Returns the record as it was before."""

    def decide(stored: Record | None) -> Change:
        record = registered(ports, name, stored)
        run = record.run
        if run and not stop and admit(record, owner_liveness(ports, record), ports.clock.now()) is Admission.BUSY:
            raise _still_running(name, run)
        generation = targets.next_generation(ports, record)
        taken = _taken(ports, run, generation) if run else None
        return Change(Event.DROP, record.after(Event.DROP, generation=generation, run=taken))

    before, after = change(ports, name, decide)
    return _Reset(ports, name, after.generation), registered(ports, name, before)


def _taken(ports: Ports, run: Run, generation: int) -> Run:
    """The run, held by this process, with the sessions that are still to be released."""
    return with_new_lease(ports, run, generation).model_copy(update={"left_over": sessions_of(run)})


def _end_run(tenure: Tenure, old: Run) -> None:
    """Fence a run's owners, drop its staging, and record in the history how it ended."""
    ports = tenure.ports
    ports.watch.note(f"run {old.run_id} of {tenure.name} is stopped and abandoned")
    close(fence_run(tenure, old))
    ports.staging.drop(old.plan.staging)
    ports.store.clear_beats(tenure.name, old.run_id)
    ended = ended_run(ports, tenure.name, old.run_id)
    if ended is None or ended.outcome not in _FINAL:  # a run that was cancelled may have been resumed
        outcome = Outcome.SUCCEEDED if old.published else Outcome.ABANDONED
        run_ends.record_end(ports, tenure.name, old, tenure.generation, outcome, "the definition was dropped")


def _forget(reset: _Reset) -> None:
    def decide(stored: Record | None) -> Change:
        record = reset.check(stored)
        return Change(
            Event.FORGET, record.after(Event.FORGET, run=None, published=None, dropped=True, paused=False, queue=())
        )

    change(reset.ports, reset.name, decide)


def _not_its_own(ports: Ports, record: Record) -> str | None:
    """Why a target may not be deleted; None when its properties say that it belongs to this definition."""
    facts = ports.log.facts(record.definition.target)
    if facts is None:
        return "there is no table"
    if facts.properties.get(CONTROL) != ports.store.control_id:
        return "it was not created by a refresh of this control root"
    owner = facts.properties.get(DEFINITION)
    return None if owner == record.name else f"it belongs to the definition {owner}"


def _still_running(name: str, run: Run) -> Refused:
    return Refused(
        "already_running",
        f"{name} is being refreshed by {run.holder}: run {run.run_id}",
        next=f"Wait for it, or stop it and drop the definition: `airflow-refresh drop {name} --stop`.",
    )


def _overtaken(name: str) -> Lost:
    return Lost(
        "drop_overtaken",
        f"another drop of {name} has taken this one over",
        left="Nothing is lost; the other drop finishes it.",
        next=f"See how it ended with `airflow-refresh history {name}`.",
    )
