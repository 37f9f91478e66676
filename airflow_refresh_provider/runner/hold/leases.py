"""Leases: a run in the hands of this process, parked between two of its tasks, or released."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from functools import partial

from airflow_refresh_provider.core.run.attempt import Attempts, with_attempt
from airflow_refresh_provider.core.run.lifecycle import Event
from airflow_refresh_provider.core.run.record import Lease, Run
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.runner.hold.tenure import Tenure, UnitTenure


def new_lease(ports: Ports, generation: int) -> Lease:
    """A lease of this process under a generation, naming a Spark session that is opened later."""
    return Lease(
        generation=generation,
        owner=ports.processes.this(),
        session=ports.processes.new_id(),
        taken_at=ports.clock.now(),
    )


def attempted(before: Attempts, lease: Lease, origin: str | None) -> Attempts:
    """Who has held a run, with the owner of a new lease."""
    assert lease.owner is not None
    return with_attempt(before, lease.owner, lease.taken_at, origin)


def with_new_lease(
    ports: Ports, run: Run, generation: int, *, keep_claims: bool = False, origin: str | None = None
) -> Run:
    """The run, held by this process. Units keep their owners only when the run's own task adopts it.

    A cancelled run is so no longer, unless it is to be abandoned: that has to be known until it is done.
    """
    lease = new_lease(ports, generation)
    owners = run.owners if keep_claims else attempted(run.owners, lease, origin)
    return run.model_copy(
        update={
            "lease": lease,
            "owners": owners,
            "claims": run.claims if keep_claims else {},
            "generations": (*run.generations, generation),
            "origin": origin,
            "attempts": run.attempts + (not keep_claims),
            "attempt_generation": run.attempt_generation if keep_claims else generation,
            "left_over": (),
            "cancelled": run.cancelled if run.cancelled and run.cancelled.abandon else None,
        }
    )


def holding(tenure: Tenure) -> AbstractContextManager[None]:
    """Signs of life of the run's owner inside the block; its statement is interrupted once it has lost the run."""
    ports, session = tenure.ports, tenure.read_run().session
    return ports.heart.beating(
        tenure.name, tenure.run_id, None, tenure.generation, partial(ports.engine.release, session)
    )


def holding_unit(held: UnitTenure) -> AbstractContextManager[None]:
    """As `holding`, of the owner of a unit."""
    ports, whole, claim = held.whole.ports, held.whole, held.claim
    interrupt = partial(ports.engine.release, claim.session)
    return ports.heart.beating(whole.name, whole.run_id, held.slot, claim.generation, interrupt)


def park(tenure: Tenure) -> None:
    """Keep the run for the next task of its origin; until the deadline no other caller may take it."""
    tenure.write(Event.PARK, lease=tenure.read_run().lease.parked(tenure.ports.clock.now()))


def release(tenure: Tenure) -> None:
    """Release the run: any caller may resume it at once. It has not stopped because its budget is spent."""
    _release(tenure, {})


def release_fenced(tenure: Tenure, before: Run) -> None:
    """As `release`, a run that was taken over for no more than to fence its owners: that was no attempt."""
    attempts = {"attempts": before.attempts, "attempt_generation": before.attempt_generation, "owners": before.owners}
    _release(tenure, attempts)


def _release(tenure: Tenure, changes: Mapping[str, object]) -> None:
    run = tenure.read_run()
    lease = run.lease.model_copy(update={"owner": None, "session": None})
    budget = run.budget.unspent() if run.budget else None
    tenure.write(Event.RELEASE, lease=lease, claims={}, budget=budget, **changes)
