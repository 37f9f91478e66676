"""Ways in which a run ends without being published, and the events that history is made of."""

from __future__ import annotations

from airflow_refresh_provider.core.lifecycle import Event, State
from airflow_refresh_provider.core.results import HistoryEntry, Outcome, RunResult
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.control import EventRow
from airflow_refresh_provider.runner.tenure import Tenure

RUN_ENDED = "run_ended"


def abandon(tenure: Tenure, reason: str, outcome: Outcome = Outcome.ABANDONED) -> None:
    """Give the run up: its staging goes, history says why. Everything it could still write was fenced before."""
    run = tenure.run()
    ended(tenure.ports, tenure.name, run.run_id, run.generation, outcome, reason)
    tenure.write_record(Event.ABANDON, lambda record: record.after(Event.ABANDON, run=None))
    tenure.ports.staging.drop(run.plan.staging)
    tenure.ports.store.clear_beats(tenure.name, run.run_id)


def release(tenure: Tenure) -> None:
    """Leave the run for anyone to resume at once."""
    run = tenure.run()
    lease = run.lease.model_copy(update={"owner": None, "session": None})
    tenure.write(Event.RELEASE, lease=lease, claims={})


def drop_orphans(ports: Ports, name: str) -> None:
    """Drop staging that no run names; a late statement of an old owner can make it anew after it was dropped.

    Folders are listed before control is read: what a younger run has staged meanwhile is not among them.
    """
    if not (folders := ports.staging.runs(f"{ports.staging_root}/{name}")):
        return
    record = ports.store.read(name).record
    kept = record.run.plan.staging if record and record.run else None
    for folder in folders:
        if folder != kept:
            ports.staging.drop(folder)


def must_be_kept(tenure: Tenure) -> bool:
    """Whether the run has frozen staging: from then on it is resumed, not given up."""
    return tenure.record().state is State.FINISHING


def ended(
    ports: Ports,
    name: str,
    run_id: str,
    generation: int,
    outcome: Outcome,
    reason: str | None = None,
    result: RunResult | None = None,
) -> None:
    """Write the end of a run into the events; the last such row of a run counts."""
    at = ports.clock.now()
    entry = HistoryEntry(run_id=run_id, outcome=outcome, at=at, generation=generation, reason=reason, result=result)
    ports.store.add_event(
        EventRow(
            name=name,
            run_id=run_id,
            event=RUN_ENDED,
            generation=generation,
            at=at,
            detail=entry.model_dump_json(),
        )
    )
