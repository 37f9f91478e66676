"""The stored record of a definition: its state, its counter, the run in progress, and what is published.

One record is one row of the state table; every transition writes the whole of it. Generations decide which process
may write: one counter per definition, from which every start, take-over, adoption and unit claim draws the next number.
A generation belongs to one run only.
"""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from airflow_refresh_provider.core.changes.history import Windows
from airflow_refresh_provider.core.changes.pins import VersionVector, size_of
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.definition.mode import Mode
from airflow_refresh_provider.core.plan.checksums import Checksums
from airflow_refresh_provider.core.plan.foreseen import Estimates
from airflow_refresh_provider.core.plan.plan import ChangeCounts, Frozen, Plan
from airflow_refresh_provider.core.query.facts import QueryFacts
from airflow_refresh_provider.core.run.attempt import Attempts
from airflow_refresh_provider.core.run.budget import RunBudget
from airflow_refresh_provider.core.run.cancellation import Cancellation
from airflow_refresh_provider.core.run.durations import Durations
from airflow_refresh_provider.core.run.last_run import LastRun
from airflow_refresh_provider.core.run.lifecycle import Event, State, advance
from airflow_refresh_provider.core.run.measured import Measured
from airflow_refresh_provider.core.run.owner import PARKED_FOR, Owner
from airflow_refresh_provider.core.run.queue import Queue
from airflow_refresh_provider.core.run.spent import Spent
from airflow_refresh_provider.core.run.trust import Trust
from airflow_refresh_provider.core.text.stored import Stored

RECORD_FORMAT = 12
"""Version of the stored record, with all that is in it; a change of its fields raises it."""


class Claim(Stored):
    """One unit held by one owner. `session` is the Spark session it may use, recorded before it is opened."""

    generation: int
    owner: Owner
    session: str


class Lease(Stored):
    """Who holds the run as a whole. Without an owner it is released, or parked for its own tasks until a deadline."""

    generation: int
    owner: Owner | None
    session: str | None
    taken_at: datetime
    parked_until: datetime | None = None

    def parked(self, now: datetime) -> Lease:
        """The lease without an owner, kept for the run's own tasks."""
        return self.model_copy(update={"owner": None, "session": None, "parked_until": now + PARKED_FOR})

    def parked_longer(self, now: datetime) -> Lease:
        """The lease, parked for the full time again if it is parked."""
        return self.parked(now) if self.parked_until else self


class Published(Stored):
    """The newest complete refresh: `version` of the target is the published one.

    `origin` is that of its run, `started_at` when the run started, which is also what its query has read of the clock;
    neither is in the target's log. `refreshed_by`: what has started this run or the last one before that no person has
    started, such as a DAG. `checksums` are those of the published rows, where a comparison has made them.
    """

    run_id: str
    target_id: str
    version: int
    seal_version: int
    pins: VersionVector
    definition_hash: str
    clocked: bool
    at: datetime
    origin: str | None = None
    started_at: datetime | None = None
    refreshed_by: str | None = None
    checksums: Checksums | None = None


class Run(Stored):
    """One refresh in progress: `generations` are all numbers drawn for it, `attempts` counts its start and take-overs,
    of which `owners` says who held it; a run of an earlier version has none, or only those since.

    `definition` is the one it was started with; a newer one may have been registered since. `origin` names what the
    run was started for, such as a DAG run whose tasks continue it. `scheduled`: it was not started by hand.
    `attempt_generation`: that with which the last of its attempts began; 0 where an earlier version has started it.
    `failed_in`: the generation in which it last counted as failed; all units of a generation count once.
    `unresumable_reason`: why what the run reads cannot bring it to its end, once that has been found out.
    `left_over`: sessions of owners that a drop or a cancellation has taken the run from, until they are released.
    `cancelled`: a person has cancelled it, and no owner has resumed it since. `requests`: the ids of those from the
    queue that it was started for. `spent`: what its owners had spent when they last wrote it, beside what is stored
    with the progress of its chunks.
    """

    run_id: str
    definition: Definition
    started_at: datetime
    lease: Lease
    generations: tuple[int, ...]
    plan: Plan
    origin: str | None = None
    scheduled: bool = False
    budget: RunBudget | None = None
    attempts: int = 1
    owners: Attempts = ()
    attempt_generation: int = 0
    claims: dict[int, Claim] = {}
    frozen: Frozen | None = None
    counts: ChangeCounts = ChangeCounts()
    published: bool = False
    failed_in: int | None = None
    unresumable_reason: str | None = None
    left_over: tuple[str, ...] = ()
    cancelled: Cancellation | None = None
    spent: Spent = Spent()
    requests: tuple[str, ...] = ()

    @property
    def stopped(self) -> str | None:
        """What it has spent of its budget, if it was stopped and released because of that."""
        free = self.lease.owner is None and self.lease.parked_until is None
        return self.budget.spent if self.budget and free else None

    @property
    def stopped_at(self) -> datetime | None:
        """When it was stopped because its budget was spent."""
        return self.budget.spent_at if self.budget and self.stopped else None

    def elapsed(self, now: datetime) -> float:
        """Seconds since the run was started, as far as clocks agree where another machine started it."""
        return round(max(0.0, (now - self.started_at).total_seconds()), 3)

    @property
    def generation(self) -> int:
        """The generation of the owner of the run as a whole."""
        return self.lease.generation

    @property
    def session(self) -> str:
        """The Spark session of the owner; a run without an owner has none."""
        assert self.lease.session is not None, f"run {self.run_id} has no owner"
        return self.lease.session

    @property
    def holder(self) -> str:
        """Who holds the run, for people: its owner, or the tasks that it is kept for."""
        if self.lease.owner:
            return self.lease.owner.label
        return f"the tasks of {self.origin.strip()}" if self.origin else "its own next task"

    def kept_until(self, now: datetime) -> datetime | None:
        """Until when only the run's own tasks may take it; None when it is not kept for them."""
        until = self.lease.parked_until
        return until if until and now < until else None

    @property
    def clocked(self) -> bool:
        """Whether the query reads the clock, so that its result changes without its inputs."""
        return self.plan.query != self.definition.query_text

    def is_held(self, unit: int | None, generation: int) -> bool:
        """Whether a generation still holds the run as a whole (unit None), or one of its units."""
        if unit is None:
            return self.generation == generation
        return unit in self.claims and self.claims[unit].generation == generation

    @property
    def windows(self) -> Windows:
        """What the run reads of its inputs; none when it reads everything."""
        return {} if self.frozen and self.frozen.fell_back else self.plan.windows

    @property
    def mode(self) -> Mode:
        """How it is done, as far as that is decided: what was asked for is in its plan."""
        return Mode.INCREMENTAL if self.windows else Mode.FULL

    @property
    def bytes_to_read(self) -> int | None:
        """Size of the files of its inputs that Spark is given: those with changes, else all; None where not known."""
        return self.plan.change_bytes if self.windows else size_of(self.plan.pins)

    @property
    def estimates(self) -> Estimates:
        """What it was foreseen to take either way, when that was decided last."""
        if self.frozen and self.frozen.estimates:
            return self.frozen.estimates
        return self.plan.foreseen.estimates if self.plan.foreseen else Estimates()


class Record(Stored):
    """Everything stored about one definition. `generation` is the counter: the highest number ever drawn.

    `format` is the version of this model, `facts` are those of the definition's query. `last_run` is the newest run
    that has ended, or has stopped, failed or been cancelled and is kept. `trust` is that in incremental refreshes by
    touched values. `measured`: how long its last refreshes took, either way. `throttle`: rows a second by command, 0
    without a limit, None as the definition says. `queue`: requests that wait for the run in progress to end, the next
    one first. `durations` are those of the newest refreshes by mode.
    """

    format: int = Field(default=RECORD_FORMAT, le=RECORD_FORMAT)
    name: str
    definition: Definition
    facts: QueryFacts
    state: State = State.IDLE
    generation: int = 0
    suspended: str | None = None
    failures: int = 0  # of scheduled runs, since the last success
    paused: bool = False
    throttle: int | None = None
    dropped: bool = False
    run: Run | None = None
    published: Published | None = None
    trust: Trust | None = None
    measured: Measured = Measured()
    last_run: LastRun | None = None
    durations: Durations = {}
    queue: Queue = ()

    def after(self, event: Event, **changes: object) -> Record:
        """The record a transition leads to. Raises Defect when the lifecycle has no such transition."""
        return self.model_copy(update={"state": advance(self.state, event), **changes})

    def with_run(self, event: Event, **changes: object) -> Record:
        """As `after`, changing fields of the run in progress."""
        assert self.run is not None
        return self.after(event, run=self.run.model_copy(update=changes))

    def with_spent(self, more: Spent) -> Record:
        """The record with more that was spent on the run in progress, if there is one."""
        if self.run is None:
            return self
        return self.model_copy(update={"run": self.run.model_copy(update={"spent": self.run.spent + more})})
