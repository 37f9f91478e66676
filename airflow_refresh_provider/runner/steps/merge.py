"""Merging: bring the chunks of one unit into the target, one commit after the other.

Before each chunk the owner makes sure that the unit is still his. After each he reads the marker: an error or an empty
answer decides nothing. A chunk that is already in costs one look at the log.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait

from airflow_refresh_provider.core.changes.pins import digests
from airflow_refresh_provider.core.log import seal
from airflow_refresh_provider.core.log.commits import Commit, Standing, chunk_reached, standing
from airflow_refresh_provider.core.log.marker import Marker, slot_app_id
from airflow_refresh_provider.core.log.note import Note, NoteKind
from airflow_refresh_provider.core.plan.choice import INTEGERS
from airflow_refresh_provider.core.plan.plan import Chunk, Round, Target
from airflow_refresh_provider.core.run.cursor import cursor_of
from airflow_refresh_provider.core.run.record import Run
from airflow_refresh_provider.errors import Conflict, Failed, Lost, Retry
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.engine import ApplyTask, EngineSession, Stamp
from airflow_refresh_provider.ports.watch import Committed
from airflow_refresh_provider.runner.facts import pinned_inputs, targets
from airflow_refresh_provider.runner.hold.takeover import fence
from airflow_refresh_provider.runner.hold.tenure import Tenure, UnitTenure, lost
from airflow_refresh_provider.runner.report import journal

APPLY_TRIES = 5


def merge(tenure: Tenure, session: EngineSession, workers: int, stop: threading.Event) -> int:
    """Merge every unit of the current round, several side by side. Returns how many chunks were already in."""
    run = tenure.read_run()
    units = _current(run).units
    if not units:
        return 0
    tenure.ports.watch.stage("merge", *_totals(run))
    slots = tuple(u.slot for u in units)
    if min(workers, len(units)) <= 1:
        assert run.lease.session is not None
        own = claim(tenure, session, slots, (run.lease.session,) * len(slots))
        return sum(merge_unit(held, session, stop) for held in own)
    claims = claim(tenure, session, slots, tuple(tenure.ports.processes.new_id() for _ in slots))
    with ThreadPoolExecutor(workers, thread_name_prefix="unit") as pool:
        waited = False
        try:
            futures = [pool.submit(_merge_alone, held, stop) for held in claims]
            wait(futures)
            waited = True
        finally:
            if not waited:  # the units' own errors are in their futures: the process is asked to stop
                stop.set()
                for held in claims:
                    tenure.ports.engine.release(held.claim.session)
    return sum(future.result() for future in sorted(futures, key=_failed_first))


def claim(
    tenure: Tenure, session: EngineSession, slots: tuple[int, ...], sessions: tuple[str, ...]
) -> tuple[UnitTenure, ...]:
    """Claim units. One that had an owner before is fenced first; its siblings are left alone."""
    claims = tenure.claim(slots, sessions)
    for held in claims:
        fence_unit(held, session)
    return claims


def fence_unit(held: UnitTenure, session: EngineSession) -> None:
    """Fence the unit's slot if somebody had the unit before."""
    if held.before is None:
        return
    run = held.check()
    assert run.frozen is not None
    if held.before.session != held.claim.session:
        held.whole.ports.engine.release(held.before.session)
    fence(held.whole, session, _target(run), run.frozen, held.slot, held.claim.generation)


def merge_unit(held: UnitTenure, session: EngineSession, stop: threading.Event) -> int:
    """Apply the chunks of one unit that are not in yet. Returns how many were."""
    run = held.check()
    ports = held.whole.ports
    unit = next(u for u in _current(run).units if u.slot == held.slot)
    targets.check_in_place(ports, _target(run))
    done = _done(ports, run, held.slot)
    skipped = [c for c in unit.chunks if c.number <= done]
    if skipped:
        ports.watch.skip(sum(c.counts.total for c in skipped), len(skipped))
    for chunk in unit.chunks[len(skipped) :]:
        if stop.is_set():
            break
        commit = _apply(held, session, held.check(), chunk)
        journal.chunk_done(held, run, chunk, commit)
        rows = chunk.counts.total or max(0, commit.net_rows or 0)
        of = unit.chunks[-1].number
        ports.watch.committed(Committed(run.run_id, held.slot, chunk.number, of, chunk.way.value, rows))
    return len(skipped)


def unfinished(ports: Ports, run: Run) -> tuple[int, ...]:
    """Slots of the current round whose last chunk is not in the target."""
    return tuple(u.slot for u in _current(run).units if u.chunks and _done(ports, run, u.slot) < u.chunks[-1].number)


def _apply(held: UnitTenure, session: EngineSession, run: Run, chunk: Chunk) -> Commit:
    """One chunk, until its marker is in the log. Raises Lost when a younger owner's marker is there."""
    target = _target(run)
    stamp = _stamp(held, run, target, chunk)
    task = ApplyTask(
        target=target,
        source=pinned_inputs.source(held.whole.ports, run),
        base=_current(run).base,
        changes=_current(run).changes,
        chunk=chunk,
        stamp=stamp,
        span=_span(held.whole.ports, run, chunk),
        files=_files(held.whole.ports, run, chunk),
    )
    for left in reversed(range(APPLY_TRIES)):
        failure: Retry | None = None
        targets.check_in_place(held.whole.ports, target)
        try:
            session.apply(task)
        except Conflict as conflict:
            failure = conflict
        except Retry as unknown:
            if commit := _committed(held, run, stamp):
                return commit
            raise unknown
        if commit := _committed(held, run, stamp):
            return commit
        if failure and not left:
            raise failure
        held.check()
    raise _not_committed(held, chunk)


def _span(ports: Ports, run: Run, chunk: Chunk) -> tuple[int, int] | None:
    """Between which values the first key of the changes lies, where the chunk's way joins on keys."""
    changes = _current(run).changes
    first = run.definition.keys[0].lower()
    key = next(c for c in _target(run).columns if c.name.lower() == first)
    if changes is None or not chunk.way.joins_on_keys or key.type not in INTEGERS:
        return None
    return ports.staging.span(changes, key.name)


def _files(ports: Ports, run: Run, chunk: Chunk) -> tuple[str, ...] | None:
    """The files of the changes, for the ways that read them directly."""
    changes = _current(run).changes
    return ports.staging.files(changes) if changes and not chunk.way.is_statement else None


def _committed(held: UnitTenure, run: Run, stamp: Stamp) -> Commit | None:
    """The commit that carries the stamp's marker, None when there is none yet. Raises Lost, Failed."""
    ports, target = held.whole.ports, _target(run)
    found = ports.log.markers(target.location).get(stamp.app_id)
    match standing(found, stamp.marker):
        case Standing.OLDER:
            return None
        case Standing.YOUNGER:
            raise lost(ports, held.whole.name, held.whole.run_id)
        case Standing.MINE:
            since = _backwards(ports, target, _current(run).base)
            if commit := next((c for c in since if _carries(c, stamp)), None):
                return commit
            raise targets.not_in_place(target)  # it is in a table that has come since the last look


def _backwards(ports: Ports, target: Target, base: int) -> Iterator[Commit]:
    """The commits since a version, newest first: what is looked for mostly is the last of them."""
    for version in range(ports.log.newest(target.location), base, -1):
        yield from ports.log.commits(target.location, after=version - 1, upto=version)


def _carries(commit: Commit, stamp: Stamp) -> bool:
    return commit.txns.get(stamp.app_id) == stamp.marker.version


def _merge_alone(held: UnitTenure, stop: threading.Event) -> int:
    """A unit in a session of its own. A failure stops the siblings at their next chunk."""
    ports = held.whole.ports
    session = ports.engine.open(held.claim.session)
    done = False
    try:
        with ports.heart.beating(held.whole.name, held.whole.run_id, held.slot, held.claim.generation):
            skipped = merge_unit(held, session, stop)
        done = True
        return skipped
    finally:
        if not done:
            stop.set()
        session.close()


def chunks_missing(name: str, slots: tuple[int, ...]) -> Failed:
    """The error of an end that came too early."""
    return Failed(
        "chunks_missing",
        f"{'units' if len(slots) > 1 else 'unit'} {', '.join(map(str, slots))} of {name} "
        f"{'are' if len(slots) > 1 else 'is'} not wholly in the target",
        left="Nothing was published; the chunks that are in stay.",
        next=f"Clear the merge tasks, or run `airflow-refresh run {name}`: what is missing is merged then.",
    )


def _failed_first(future: Future[int]) -> int:
    """Losing the run explains every other failure, so it is raised first."""
    error = future.exception()
    return 0 if isinstance(error, Lost) else 1 if error else 2


def _stamp(held: UnitTenure, run: Run, target: Target, chunk: Chunk) -> Stamp:
    marker = Marker(held.claim.generation, chunk.number)
    seals = seal.sealing(_current(run))
    note = Note(
        kind=NoteKind.CHUNK,
        definition=held.whole.name,
        run=run.run_id,
        generation=marker.generation,
        unit=held.slot,
        chunk=chunk.number,
        way=chunk.way.value,
        by_vnode=chunk.by_vnode,
        hash_high=chunk.keys.high if chunk.keys else None,
        inputs=digests(run.plan.pins),
        windows=run.windows,
        seals=seals,
        cursor=cursor_of(run, held.whole.ports.clock.now()) if seals else None,
    )
    return Stamp(app_id=slot_app_id(target.table_id, held.slot), marker=marker, note=note)


def _done(ports: Ports, run: Run, slot: int) -> int:
    target = _target(run)
    found = ports.log.markers(target.location).get(slot_app_id(target.table_id, slot))
    return chunk_reached(found, run.generations)


def _current(run: Run) -> Round:
    assert run.frozen is not None
    return run.frozen.current


def _target(run: Run) -> Target:
    assert run.plan.target is not None
    return run.plan.target


def _totals(run: Run) -> tuple[int, int]:
    """Rows and chunks to come; where the query goes straight into the target, its rows are what is known."""
    assert run.frozen is not None
    chunks = [c for u in _current(run).units for c in u.chunks]
    staged = _current(run).changes is not None
    return sum(c.counts.total for c in chunks) if staged else run.frozen.source_rows, len(chunks)


def _not_committed(held: UnitTenure, chunk: Chunk) -> Retry:
    return Retry(
        "chunk_not_committed",
        f"chunk {chunk.number} of unit {held.slot} did not get into the target in {APPLY_TRIES} tries",
        left="All chunks before it are in; the target is between two refreshes.",
        next=f"Run `airflow-refresh run {held.whole.name}` again; it goes on with this chunk.",
    )
