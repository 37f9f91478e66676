"""Tenure: one owner's hold on one run, and the only way in which it writes control state.

Every write reads the stored record again, checks that run and generation are still this owner's, and goes through that
same view. An owner that finds a younger generation has lost: it raises Lost and changes nothing more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from airflow_refresh_provider.core.run.lifecycle import Event
from airflow_refresh_provider.core.run.record import Claim, Record, Run
from airflow_refresh_provider.core.run.suspension import check_not_paused
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.runner.hold.control_writes import Change, change
from airflow_refresh_provider.runner.hold.losses import lost
from airflow_refresh_provider.runner.hold.meter import Meter


@dataclass(frozen=True)
class Tenure:
    """A run held as a whole under one generation. Each of its writes stores what the `meter` has measured meanwhile."""

    ports: Ports
    name: str
    run_id: str
    generation: int
    meter: Meter = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "meter", Meter(self.ports.clock))  # the hold begins now

    def read(self) -> tuple[Record, Run]:
        """The record and its run as stored now. Raises Lost when the run is no longer held."""
        return self._held(self.ports.store.read(self.name).record)

    def read_run(self) -> Run:
        """The run as stored now. Raises Lost when it is no longer held."""
        return self.read()[1]

    def read_record(self) -> Record:
        """The record as stored now. Raises Lost when the run is no longer held."""
        return self.read()[0]

    def write(self, event: Event, **changes: object) -> Run:
        """Store a transition that changes fields of the run. Raises Lost."""
        return self._write_run(event, lambda record, run: record.after(event, run=run.model_copy(update=changes)))

    def write_record(self, event: Event, make: Callable[[Record, Run], Record]) -> Record:
        """Store a transition to the record that `make` returns. Raises Lost."""
        with self.meter.storing() as spent:

            def decide(stored: Record | None) -> Change:
                return Change(event, make(*self._held(stored)).with_spent(spent))

            return change(self.ports, self.name, decide).after

    def claim(self, slots: tuple[int, ...], sessions: tuple[str, ...]) -> tuple[UnitTenure, ...]:
        """Claim units, each under a generation of its own and with a recorded session, in one write.

        A parked run is parked for the full time again: its own tasks are still running.
        """
        before: dict[int, Claim] = {}

        def claimed(record: Record, run: Run) -> Record:
            before.clear()
            before.update(run.claims)
            owner = self.ports.processes.this()
            first = record.generation + 1
            fresh = {
                slot: Claim(generation=first + i, owner=owner, session=session)
                for i, (slot, session) in enumerate(zip(slots, sessions, strict=True))
            }
            drawn = tuple(claim.generation for claim in fresh.values())
            return record.with_run(
                Event.CLAIM,
                lease=run.lease.parked_longer(self.ports.clock.now()),
                claims={**run.claims, **fresh},
                generations=(*run.generations, *drawn),
            ).model_copy(update={"generation": first + len(slots) - 1})

        run = self._write_run(Event.CLAIM, claimed)
        return tuple(UnitTenure(self, slot, run.claims[slot], self.meter, before.get(slot)) for slot in slots)

    def _write_run(self, event: Event, make: Callable[[Record, Run], Record]) -> Run:
        run = self.write_record(event, make).run
        assert run is not None
        return run

    def _held(self, record: Record | None) -> tuple[Record, Run]:
        """The record and its run, if this owner holds it. Raises Lost."""
        run = record.run if record else None
        if record is None or run is None or run.run_id != self.run_id or run.generation != self.generation:
            raise lost(self.ports, self.name, self.run_id)
        return record, run


@dataclass(frozen=True)
class UnitTenure:
    """One unit of a run, held under a claim's generation; `before` is the claim that it replaced.

    `meter` is that of the run, or of the unit where it is merged beside others.
    """

    whole: Tenure
    slot: int
    claim: Claim
    meter: Meter = field(repr=False, compare=False)
    before: Claim | None = None

    def check(self) -> Run:
        """The run as stored now. Raises Lost when the run or the unit has another owner, Paused when it is paused."""
        return self.read()[1]

    def read(self) -> tuple[Record, Run]:
        """As `check`, with the record."""
        record, run = self._held()
        check_not_paused(record)
        return record, run

    def must_be_held(self) -> None:
        """Raises Lost when the run or the unit has another owner."""
        self._held()

    def _held(self) -> tuple[Record, Run]:
        record = self.whole.ports.store.read(self.whole.name).record
        run = record.run if record else None
        claim = run.claims.get(self.slot) if run else None
        if (
            record is None
            or run is None
            or run.run_id != self.whole.run_id
            or claim is None
            or claim.generation != self.claim.generation
        ):
            raise lost(self.whole.ports, self.whole.name, self.whole.run_id)
        return record, run
