"""Taking over a run whose owner is gone: draw a generation, release, fence, look, decide.

Only after the fence has been read back may the target be believed: whatever the old owner still sends is then refused
or skipped by Delta itself. Releasing his sessions merely saves work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from airflow_refresh_provider.core.changes.pins import digests
from airflow_refresh_provider.core.log.commits import Commit, Standing, chunk_reached, chunks_done, standing
from airflow_refresh_provider.core.log.marker import Marker, seal_app_id, slot_app_id
from airflow_refresh_provider.core.log.note import Note, NoteKind
from airflow_refresh_provider.core.log.seal import Seal, find_seal
from airflow_refresh_provider.core.plan.plan import Frozen, Target
from airflow_refresh_provider.core.run.lifecycle import Event
from airflow_refresh_provider.core.run.record import Lease, Record, Run
from airflow_refresh_provider.core.run.recovery import Decision, Facts, Step, next_step
from airflow_refresh_provider.core.run.request import OnInterrupted, Request
from airflow_refresh_provider.errors import Conflict, Retry, StaleSnapshot
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.control import Snapshot
from airflow_refresh_provider.ports.engine import EngineSession, Stamp
from airflow_refresh_provider.ports.table_log import LogGap
from airflow_refresh_provider.runner.facts import pinned_inputs, staging_paths, targets
from airflow_refresh_provider.runner.hold import ending
from airflow_refresh_provider.runner.hold.tenure import Tenure, commit, lost

FENCE_TRIES = 20


@dataclass(frozen=True)
class HeldRun:
    """A run that is held now; `decision` says how an interrupted one goes on.

    `session` is the run's Spark session when it had to be opened for fencing; a session is never opened twice.
    """

    tenure: Tenure
    resumed: bool
    decision: Decision | None = None
    session: EngineSession | None = None


def adopt(ports: Ports, snapshot: Snapshot, record: Record, request: Request) -> HeldRun | None:
    """Attach to a run of one's own whose last owner let go of it in good order; nothing needs fencing."""
    if not (tenure := _draw(ports, snapshot, record, Event.ADOPT, request)):
        return None
    return HeldRun(tenure, resumed=tenure.read_run().attempts > 1)


def step_left(tenure: Tenure) -> Step:
    """How a run that was never out of its owner's hands goes on. Raises LogGap."""
    run = tenure.read_run()
    if run.published:
        return Step.CLEAN_UP
    return Step.PUBLISH if seal_of(tenure.ports, run) else Step.RESUME


def park(tenure: Tenure) -> None:
    """Let go of a run between two of its own tasks; nobody else takes it before the deadline."""
    tenure.write(Event.PARK, lease=tenure.read_run().lease.parked(tenure.ports.clock.now()))


def take_over(ports: Ports, snapshot: Snapshot, record: Record, request: Request) -> HeldRun | None:
    """Fence an unfinished run and decide how it goes on; None when it is over, or somebody else was quicker."""
    old = record.run
    assert old is not None
    if not (tenure := _draw(ports, snapshot, record, Event.TAKE_OVER, request)):
        return None
    with ports.heart.beating(record.name, old.run_id, None, tenure.generation), ending.release_on_failure(tenure):
        session, decision = _decide(tenure, old, request)
        ports.watch.note(f"run {old.run_id} was left unfinished: {decision.step.value}, {decision.reason}")
        if decision.step is Step.ABANDON:
            close(session)
            ending.abandon(tenure, decision.reason)
            return None
    return HeldRun(tenure, resumed=True, decision=decision, session=session)


def fence(tenure: Tenure, session: EngineSession, target: Target, frozen: Frozen, slot: int, generation: int) -> None:
    """Shut out every older generation on one slot. Raises Lost when a younger one is there.

    The fence stands at the last chunk done. That is read from the log again after the fence is in: a chunk that came
    in between is counted, and the fence is moved up to it.
    """

    def needed() -> Marker:
        return Marker(generation, _reached(tenure, target, frozen, slot), fence=True)

    _mark_until(tenure, session, target, _Fence(slot_app_id(target.table_id, slot), slot, needed))


def readable(ports: Ports, target: Target, frozen: Frozen) -> tuple[tuple[Commit, ...], bool]:
    """What was committed since a run began, as far as the log reaches back, and whether that is all of it."""
    after = max(frozen.first_base, ports.log.oldest(target.location) - 1)
    return ports.log.commits(target.location, after=after), after == frozen.first_base


def seal_of(ports: Ports, run: Run) -> Seal | None:
    """The seal of a run, None when it is not sealed. Raises LogGap when the log does not tell any more."""
    if run.plan.target is None or run.frozen is None:
        return None
    commits, complete = readable(ports, run.plan.target, run.frozen)
    found = find_seal(commits, run.plan.target.table_id, run.run_id)
    if found is None and not complete:
        raise LogGap(run.plan.target.location)
    return found


def new_lease(ports: Ports, generation: int) -> Lease:
    """A lease of this process under a generation, naming a Spark session that is opened later."""
    return Lease(
        generation=generation,
        owner=ports.processes.this(),
        session=ports.processes.new_id(),
        taken_at=ports.clock.now(),
    )


def with_new_lease(
    ports: Ports, run: Run, generation: int, *, keep_claims: bool = False, origin: str | None = None
) -> Run:
    """The run in the hands of this process. Units keep their owners only when the run's own task adopts it."""
    return run.model_copy(
        update={
            "lease": new_lease(ports, generation),
            "claims": run.claims if keep_claims else {},
            "generations": (*run.generations, generation),
            "origin": origin,
            "attempts": run.attempts + (not keep_claims),
        }
    )


def fence_run(tenure: Tenure, old: Run) -> EngineSession | None:
    """Release the sessions of a run's old owners and fence every slot they could write with.

    Returns the run's own session when one had to be opened. Raises Lost when a younger owner is there.
    """
    for left_over in sessions(old):
        tenure.ports.engine.release(left_over)
    target = old.plan.target
    if target is None or old.frozen is None or old.published or targets.replaced(tenure.ports, target):
        return None
    session_id = tenure.read_run().lease.session
    assert session_id is not None
    session = tenure.ports.engine.open(session_id)
    with _closed_on_failure(session):
        for slot in old.frozen.slots:
            fence(tenure, session, target, old.frozen, slot, tenure.generation)
        _fence_seal(tenure, session, target)
    return session


def sessions(run: Run) -> tuple[str, ...]:
    """The Spark sessions that may be at work for a run."""
    held = {run.lease.session, *(claim.session for claim in run.claims.values()), *run.left_over}
    return tuple(sorted(s for s in held if s))


def close(session: EngineSession | None) -> None:
    """Close a session that may not have been opened."""
    if session is not None:
        session.close()


@contextmanager
def _closed_on_failure(session: EngineSession | None) -> Iterator[None]:
    done = False
    try:
        yield
        done = True
    finally:
        if not done:
            close(session)


def _reached(tenure: Tenure, target: Target, frozen: Frozen, slot: int) -> int:
    """The last chunk done on a slot. Without the commits only the newest marker tells, which a fence may hide.

    That is enough to shut everybody out: a run whose commits are gone is given up.
    """
    generations = tenure.read_run().generations
    try:
        return chunks_done(_since(tenure, target, frozen), target.table_id, slot, generations)
    except LogGap:
        found = tenure.ports.log.markers(target.location).get(slot_app_id(target.table_id, slot))
        return chunk_reached(found, generations)


def _draw(ports: Ports, snapshot: Snapshot, record: Record, event: Event, request: Request) -> Tenure | None:
    """Put the run under a new generation held by this process; None when somebody else was quicker."""
    assert record.run is not None
    adopted = event is Event.ADOPT
    generation = record.generation + 1 if adopted else targets.next_generation(ports, record)
    held = with_new_lease(ports, record.run, generation, keep_claims=adopted, origin=request.origin)
    fresh = _forced(held) if request.force else held
    try:
        commit(ports, snapshot, record.after(event, run=fresh, generation=generation), event)
    except StaleSnapshot:
        return None
    return Tenure(ports, record.name, fresh.run_id, generation)


def _forced(run: Run) -> Run:
    """The run, with a mass delete accepted if it has still to be found; once frozen, a plan stays as it is."""
    if run.frozen:
        return run
    return run.model_copy(update={"plan": run.plan.model_copy(update={"force": True})})


def _decide(tenure: Tenure, old: Run, request: Request) -> tuple[EngineSession | None, Decision]:
    target = old.plan.target
    gone = target is not None and targets.replaced(tenure.ports, target)
    session = fence_run(tenure, old)
    with _closed_on_failure(session):
        return session, _judged(tenure, old, request, gone=gone)


def _judged(tenure: Tenure, old: Run, request: Request, *, gone: bool) -> Decision:
    """How a run that has been fenced goes on. A restart is a wish about the runs of others, not about one's own."""
    record = tenure.read_record()
    try:
        sealed = not (gone or old.published) and seal_of(tenure.ports, old) is not None
    except LogGap:
        reason = "the target's log no longer reaches back to where the run began"
        return Decision(step=Step.ABANDON, reason=reason)
    facts = Facts(
        sealed=sealed,
        definition_changed=record.definition.hash != old.definition.hash,
        target_replaced=gone,
        unresumable_reason=None if sealed or old.published else _unresumable_reason(tenure.ports, old),
        released=old.lease.owner is None and old.lease.parked_until is None,
        wish=OnInterrupted.RESUME if old.origin and old.origin == request.origin else request.on_interrupted,
    )
    return next_step(record, facts)


def _unresumable_reason(ports: Ports, run: Run) -> str | None:
    return run.unresumable_reason or pinned_inputs.unreadable(ports, run.plan.pins) or staging_paths.gone(ports, run)


@dataclass(frozen=True)
class _Fence:
    """A marker that has to be in the log; `needed` says anew, each time, which one it is."""

    app_id: str
    slot: int | None
    needed: Callable[[], Marker]


def _fence_seal(tenure: Tenure, session: EngineSession, target: Target) -> None:
    marker = Marker(tenure.generation, 0, fence=True)
    _mark_until(tenure, session, target, _Fence(seal_app_id(target.table_id), None, lambda: marker))


def _mark_until(tenure: Tenure, session: EngineSession, target: Target, wanted: _Fence) -> None:
    """Send a fence until the log shows it. Raises Lost when a younger one is there."""
    for _ in range(FENCE_TRIES):
        marker = wanted.needed()
        match standing(tenure.ports.log.markers(target.location).get(wanted.app_id), marker):
            case Standing.MINE:
                return
            case Standing.YOUNGER:
                raise lost(tenure.ports, tenure.name, tenure.run_id)
            case Standing.OLDER:
                _mark(tenure, session, target, wanted, marker)
    raise _fence_failed(tenure, wanted.app_id)


def _mark(tenure: Tenure, session: EngineSession, target: Target, wanted: _Fence, marker: Marker) -> None:
    """Send a fence; its outcome is read from the log by the caller, a lost race against a late commit included."""
    note = Note(
        kind=NoteKind.FENCE,
        definition=tenure.name,
        run=tenure.run_id,
        generation=marker.generation,
        unit=wanted.slot,
        chunk=marker.chunk,
        inputs=digests(tenure.read_run().plan.pins),
    )
    with suppress(Conflict):
        session.mark(target.location, Stamp(app_id=wanted.app_id, marker=marker, note=note))


def _since(tenure: Tenure, target: Target, frozen: Frozen) -> tuple[Commit, ...]:
    return tenure.ports.log.commits(target.location, after=frozen.first_base)


def _fence_failed(tenure: Tenure, app_id: str) -> Retry:
    return Retry(
        "fence_failed",
        f"the marker {app_id} could not be fenced in {FENCE_TRIES} tries",
        left="Nothing was applied; the run stands where its last commit left it.",
        next=f"Run `airflow-refresh run {tenure.name}` again.",
    )
