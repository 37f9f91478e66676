"""Taking over a run whose owner is gone: draw a generation, release its sessions, fence, read the log, decide.

The target may be relied on only after the fence has been read back: whatever the old owner still sends is then refused
or skipped by Delta itself. Releasing its sessions only saves work.
"""

from __future__ import annotations

from dataclasses import dataclass

from airflow_refresh_provider.core.run.budget import RunBudget, granted
from airflow_refresh_provider.core.run.cancellation import CODE
from airflow_refresh_provider.core.run.lifecycle import Event
from airflow_refresh_provider.core.run.prepared import frozen_or_none
from airflow_refresh_provider.core.run.record import Record, Run
from airflow_refresh_provider.core.run.recovery import Decision, Facts, Step, next_step
from airflow_refresh_provider.core.run.request import OnInterrupted, Request
from airflow_refresh_provider.core.run.results import Outcome
from airflow_refresh_provider.errors import StaleSnapshot
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.control import Snapshot
from airflow_refresh_provider.ports.engine import EngineSession
from airflow_refresh_provider.ports.table_log import LogGap
from airflow_refresh_provider.runner.facts import pinned_inputs, staging_paths, targets
from airflow_refresh_provider.runner.hold import ending
from airflow_refresh_provider.runner.hold.control_writes import commit
from airflow_refresh_provider.runner.hold.fence import fence_run
from airflow_refresh_provider.runner.hold.leases import holding, with_new_lease
from airflow_refresh_provider.runner.hold.log_lookup import marked_chunks, seal_of
from airflow_refresh_provider.runner.hold.run_sessions import close, closed_on_failure
from airflow_refresh_provider.runner.hold.tenure import Tenure

_DOING = {
    Step.CLEAN_UP: "cleaning up",
    Step.PUBLISH: "publishing",
    Step.RESUME: "resuming",
    Step.ABANDON: "abandoning",
}


@dataclass(frozen=True)
class HeldRun:
    """A run that is held now; `decision` says how an interrupted one continues.

    `session` is the run's Spark session when it had to be opened for fencing; a session is never opened twice.
    """

    tenure: Tenure
    resumed: bool
    decision: Decision | None = None
    session: EngineSession | None = None


def adopt(ports: Ports, snapshot: Snapshot, record: Record, run: Run, request: Request) -> HeldRun | None:
    """Attach to a parked run of the same origin; nothing needs fencing. None when another process was faster."""
    held = with_new_lease(ports, run, record.generation + 1, keep_claims=True, origin=request.origin)
    if not (tenure := _draw(ports, snapshot, record, Event.ADOPT, held, request)):
        return None
    return HeldRun(tenure, resumed=tenure.read_run().attempts > 1)


def take_over(ports: Ports, snapshot: Snapshot, record: Record, run: Run, request: Request) -> HeldRun | None:
    """Fence an unfinished run and decide how it continues; None when it has ended, or another process was faster."""
    held = with_new_lease(ports, run, targets.next_generation(ports, record), origin=request.origin)
    held = held.model_copy(update={"budget": _budget(ports, record, run, held.generation, request)})
    if not (tenure := _draw(ports, snapshot, record, Event.TAKE_OVER, held, request)):
        return None
    with holding(tenure), ending.release_on_failure(tenure):
        session, decision = _decide(tenure, run, request)
        ports.watch.note(f"{_DOING[decision.step]} run {run.run_id}: {decision.reason}")
        if decision.step is Step.ABANDON:
            close(session)
            for_good = run.cancelled is not None and run.cancelled.abandon
            ending.abandon(tenure, decision.reason, *((Outcome.CANCELLED, CODE) if for_good else ()))
            return None
    return HeldRun(tenure, resumed=True, decision=decision, session=session)


def step_left(tenure: Tenure) -> Step:
    """How a run continues that was adopted from its own last task. Raises LogGap."""
    run = tenure.read_run()
    if run.published:
        return Step.CLEAN_UP
    return Step.PUBLISH if seal_of(tenure.ports, run) else Step.RESUME


def _draw(ports: Ports, snapshot: Snapshot, record: Record, event: Event, held: Run, request: Request) -> Tenure | None:
    """Store the run under its new generation; None when another process was faster."""
    fresh = _as_requested(held, request)
    try:
        commit(ports, snapshot, record.after(event, run=fresh, generation=fresh.generation), event)
    except StaleSnapshot:
        return None
    return Tenure(ports, record.name, fresh.run_id, fresh.generation)


def _as_requested(run: Run, request: Request) -> Run:
    """The run with what the newest request accepts, unless its plan is frozen already."""
    if run.frozen:
        return run
    strict = request.strict or (bool(run.requests) and run.plan.strict)  # no task knows the options of a queued one
    accepted = {"force": run.plan.force or request.force, "strict": strict}
    return run.model_copy(update={"plan": run.plan.model_copy(update=accepted)})


def _budget(ports: Ports, record: Record, old: Run, generation: int, request: Request) -> RunBudget | None:
    """The budget of a run that is taken over: a new one, unless a task of the same DAG run is tried again."""
    if request.origin and request.origin == old.origin and not old.stopped:
        return old.budget
    return granted(request.budget(record.definition.budget), ports.clock.now(), generation)


def _decide(tenure: Tenure, old: Run, request: Request) -> tuple[EngineSession | None, Decision]:
    target = old.plan.target
    gone = target is not None and targets.replaced(tenure.ports, target)
    session = fence_run(tenure, old)
    with closed_on_failure(session):
        return session, _decision(tenure, old, request, gone=gone)


def _decision(tenure: Tenure, old: Run, request: Request, *, gone: bool) -> Decision:
    """How a run that has been fenced continues. A requested restart means runs of other origins only."""
    record, run = tenure.read()
    try:
        sealed = not (gone or old.published) and seal_of(tenure.ports, old) is not None
    except LogGap:
        reason = "the target's log no longer reaches back to where the run started"
        return Decision(step=Step.ABANDON, reason=reason)
    held = old.lease.owner is not None or old.kept_until(tenure.ports.clock.now()) is not None
    facts = Facts(
        sealed=sealed,
        definition_changed=record.definition.hash != old.definition.hash,
        target_replaced=gone,
        unresumable_reason=None if sealed or old.published else _unresumable_reason(tenure.ports, old),
        stopped=old.stopped is not None,
        cancelled=old.cancelled,
        released=old.lease.owner is None and old.lease.parked_until is None,
        failed=old.failed_in == old.generation,
        taken_from=old.holder if request.take_over and held else None,
        on_interrupted=OnInterrupted.RESUME if old.origin and old.origin == request.origin else request.on_interrupted,
        chunks=None if gone or sealed or old.published else _chunks(tenure.ports, old, run.generations),
    )
    return next_step(run, facts)


def _chunks(ports: Ports, old: Run, generations: tuple[int, ...]) -> tuple[int, int] | None:
    """How many chunks of a fenced run are in the target, and of how many; None before they are planned."""
    held = frozen_or_none(old)
    if held is None:
        return None
    reached = marked_chunks(ports, held, generations)
    return sum(chunk.number <= reached[unit.slot] for unit, chunk in held.chunks), len(held.chunks)


def _unresumable_reason(ports: Ports, run: Run) -> str | None:
    return run.unresumable_reason or pinned_inputs.unreadable(ports, run.plan.pins) or staging_paths.gone(ports, run)
