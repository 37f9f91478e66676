"""Tenure: one owner's hold on one run, and the only way he writes control state.

Every write reads the stored record anew, checks that run and generation are still this owner's, and goes through that
same view. An owner who finds a younger generation has lost: he raises Lost and touches nothing more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from airflow_refresh_provider.core.run.lifecycle import Event, State
from airflow_refresh_provider.core.run.record import Claim, Record, Run
from airflow_refresh_provider.core.run.suspension import check_not_paused
from airflow_refresh_provider.errors import Lost, Retry, StaleSnapshot
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.control import Snapshot

WRITE_TRIES = 50


@dataclass(frozen=True)
class Tenure:
    """A run held as a whole under one generation."""

    ports: Ports
    name: str
    run_id: str
    generation: int

    def read_run(self) -> Run:
        """The run as stored now. Raises Lost when it is no longer held."""
        return self._held()[1]

    def read_record(self) -> Record:
        """The record as stored now. Raises Lost when the run is no longer held."""
        record = self._held()[0].record
        assert record is not None
        return record

    def write(self, event: Event, **changes: object) -> Run:
        """Store a transition that changes fields of the run. Raises Lost."""
        run = self.write_record(event, lambda record: record.with_run(event, **changes)).run
        assert run is not None
        return run

    def write_record(self, event: Event, change: Callable[[Record], Record]) -> Record:
        """Store a transition of the record. Raises Lost."""
        for _ in range(WRITE_TRIES):
            snapshot, _run = self._held()
            assert snapshot.record is not None
            record = change(snapshot.record)
            try:
                commit(self.ports, snapshot, record, event)
            except StaleSnapshot:
                continue
            return record
        raise contended(self.name)

    def claim(self, slots: tuple[int, ...], sessions: tuple[str, ...]) -> tuple[UnitTenure, ...]:
        """Take units, each under a generation of its own and with a recorded session, in one write.

        A run that is parked stays so for as long again: its own tasks are still at it.
        """
        before: dict[int, Claim] = {}

        def change(record: Record) -> Record:
            assert record.run is not None
            before.clear()
            before.update(record.run.claims)
            owner = self.ports.processes.this()
            first = record.generation + 1
            fresh = {
                slot: Claim(generation=first + i, owner=owner, session=session)
                for i, (slot, session) in enumerate(zip(slots, sessions, strict=True))
            }
            drawn = tuple(claim.generation for claim in fresh.values())
            return record.with_run(
                Event.CLAIM,
                lease=record.run.lease.parked_longer(self.ports.clock.now()),
                claims={**record.run.claims, **fresh},
                generations=(*record.run.generations, *drawn),
            ).model_copy(update={"generation": first + len(slots) - 1})

        run = self.write_record(Event.CLAIM, change).run
        assert run is not None
        return tuple(UnitTenure(self, slot, run.claims[slot], before.get(slot)) for slot in slots)

    def _held(self) -> tuple[Snapshot, Run]:
        snapshot = self.ports.store.read(self.name)
        run = snapshot.record.run if snapshot.record else None
        if run is None or run.run_id != self.run_id or run.generation != self.generation:
            raise lost(self.ports, self.name, self.run_id)
        return snapshot, run


@dataclass(frozen=True)
class UnitTenure:
    """One unit of a run, held under a claim's generation; `before` is the claim that it replaced."""

    whole: Tenure
    slot: int
    claim: Claim
    before: Claim | None = None

    def check(self) -> Run:
        """The run as stored now. Raises Lost when the run or the unit has another owner, Paused when it is to rest."""
        record, run = self._held()
        check_not_paused(record)
        return run

    def must_be_held(self) -> None:
        """Raises Lost when the run or the unit has another owner."""
        self._held()

    def _held(self) -> tuple[Record, Run]:
        record = self.whole.ports.store.read(self.whole.name).record
        run = record.run if record else None
        claim = run.claims.get(self.slot) if run else None
        if run is None or run.run_id != self.whole.run_id or claim is None or claim.generation != self.claim.generation:
            raise lost(self.whole.ports, self.whole.name, self.whole.run_id)
        assert record is not None
        return record, run


def commit(ports: Ports, snapshot: Snapshot, record: Record, event: Event) -> Snapshot:
    """Store one transition. Raises StaleSnapshot."""
    return ports.store.commit(snapshot, record, event, ports.clock.now())


def lost(ports: Ports, name: str, run_id: str) -> Lost:
    """The error of an owner who has been replaced, or whose definition was dropped under him."""
    run = f"run {run_id} of {name}"
    return _dropped(ports, name, run) or Lost(
        "lost_lease",
        f"{run} is no longer held here: another owner took it over",
        left="Everything committed so far stays; the new owner goes on from it.",
        next=f"See who works on it with `airflow-refresh show {name}`.",
    )


def run_ended(ports: Ports, name: str, origin: str | None) -> Lost:
    """The error of a task whose origin has no run any more, or none that it has a part in; whoever ended it."""
    run = f"the run of {name} for {(origin or 'nobody').strip()}"
    return _dropped(ports, name, run) or Lost(
        "run_ended",
        f"nothing is left to do here: {run} was finished, given up, let go of or taken over",
        left="Everything committed so far stays; nothing was changed here.",
        next="Clear the tasks of the DAG run from `start` on, or trigger a new one. "
        f"`airflow-refresh history {name}` says how runs have ended.",
    )


def _dropped(ports: Ports, name: str, run: str) -> Lost | None:
    record = ports.store.read(name).record
    if record is None or not (record.dropped or record.state is State.RESETTING):
        return None
    return Lost(
        "dropped",
        f"{run} was stopped: the definition has been dropped",
        left="Everything committed so far stays in the target, unless that was deleted; nothing more is written.",
        next=f"Nothing goes on with it. To refresh {name} again, register it again.",
    )


def contended(name: str) -> Retry:
    """The error of a write that lost too often."""
    return Retry(
        "control_contended",
        f"the control tables of {name} are being written so often that {WRITE_TRIES} tries did not get through",
        left="The refresh stands where its last commit left it.",
        next="Run again; the refresh goes on from its last commit.",
    )
