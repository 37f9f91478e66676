"""One chunk: applied to the target under its marker, and whether it is in already."""

from __future__ import annotations

from airflow_refresh_provider.core.changes.pins import digests
from airflow_refresh_provider.core.definition.choices import Deletes
from airflow_refresh_provider.core.definition.columns import INTEGERS
from airflow_refresh_provider.core.log import seal
from airflow_refresh_provider.core.log.commits import Commit, chunk_reached
from airflow_refresh_provider.core.log.marker import Marker, slot_app_id
from airflow_refresh_provider.core.log.note import Note, NoteKind
from airflow_refresh_provider.core.maintain.rounding import rounded_out
from airflow_refresh_provider.core.plan.plan import Chunk
from airflow_refresh_provider.core.plan.ways import Way
from airflow_refresh_provider.core.run.cursor import cursor_of
from airflow_refresh_provider.core.run.prepared import FrozenRun
from airflow_refresh_provider.errors import Conflict, Failed, Retry
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.engine import EngineSession
from airflow_refresh_provider.ports.small_tables import Unfit
from airflow_refresh_provider.ports.tasks import ApplyTask, Stamp
from airflow_refresh_provider.runner.facts import pinned_inputs, staging_paths, targets
from airflow_refresh_provider.runner.hold.marked_commits import MarkedCommit, commit_of, commit_until_marked
from airflow_refresh_provider.runner.hold.tenure import UnitTenure

APPLY_TRIES = 5
_UNFIT = {
    Unfit.NOT_SMALL: "a checkpoint of the target is due, or it is no longer as it was planned with",
    Unfit.MISFIT: "others have changed the rows of the target since it was planned",
    Unfit.DENIED: "this process may not write the target, which Spark may",
}


def apply_chunk(held: UnitTenure, session: EngineSession, run: FrozenRun, chunk: Chunk) -> Commit:
    """Commit one chunk; returns the commit. Raises Lost when a younger owner's marker is there."""
    ports, target = held.whole.ports, run.target
    stamp = _stamp(held, run, chunk)
    task = ApplyTask(
        target=target,
        source=pinned_inputs.source(ports, run.run),
        base=run.current.base,
        changes=run.current.changes,
        chunk=chunk,
        stamp=stamp,
        # A target that keeps rows may have many more than the query gives.
        target_rows=run.frozen.source_rows if run.run.definition.deletes is Deletes.APPLY else None,
        span=_span(ports, run, chunk),
        files=_files(ports, run),
    )

    def check_again(conflict: Conflict | None, left: int) -> None:
        if conflict and not left:
            raise conflict
        held.check()

    wanted = MarkedCommit(
        target=target,
        stamp=lambda: stamp,
        send=lambda _stamp: _send(ports, session, task),
        tries=APPLY_TRIES,
        exhausted=lambda: _not_committed(held, chunk),
        before=lambda: targets.check_in_place(ports, target),
        again=check_again,
    )
    return commit_of(ports, target, commit_until_marked(held.whole, wanted), run.current.base)


def _send(ports: Ports, session: EngineSession, task: ApplyTask) -> None:
    """Commit a chunk once. A small table to which others have committed since may have to be merged by Spark."""
    if task.chunk.way is not Way.SMALL_TABLE:
        session.apply(task)
    elif why := ports.small_tables.rewrite(task):
        ports.watch.note(f"chunk {task.chunk.number} is merged by Spark: {_UNFIT[why]} ({why})")
        session.apply(_merging(task))


def _merging(task: ApplyTask) -> ApplyTask:
    """The same chunk as a MERGE, which its note says, too."""
    note = task.stamp.note.model_copy(update={"way": Way.MERGE.value})
    stamp = task.stamp.model_copy(update={"note": note})
    chunk = task.chunk.model_copy(update={"way": Way.MERGE})
    return task.model_copy(update={"chunk": chunk, "stamp": stamp})


def chunk_done(ports: Ports, run: FrozenRun, slot: int) -> int:
    """The last chunk of a slot that is in the target, by the slot's newest marker."""
    found = ports.log.markers(run.target.location).get(slot_app_id(run.target.table_id, slot))
    return chunk_reached(found, run.run.generations)


def unfinished(ports: Ports, run: FrozenRun) -> tuple[int, ...]:
    """Slots of the current round whose last chunk is not in the target."""
    units = (unit for unit in run.current.units if unit.chunks)
    return tuple(unit.slot for unit in units if chunk_done(ports, run, unit.slot) < unit.chunks[-1].number)


def chunks_missing(name: str, slots: tuple[int, ...]) -> Failed:
    """The error of publishing before all chunks are in."""
    return Failed(
        "chunks_missing",
        f"{'units' if len(slots) > 1 else 'unit'} {', '.join(map(str, slots))} of {name} "
        f"{'have' if len(slots) > 1 else 'has'} chunks that are not in the target",
        left="Nothing was published; committed chunks are kept.",
        next=f"Clear the merge tasks, or run `airflow-refresh run {name}`: it merges the missing chunks.",
    )


def _span(ports: Ports, run: FrozenRun, chunk: Chunk) -> tuple[int, int] | None:
    """A span of the first key that has all changes, where the chunk's way joins on keys."""
    changes = run.current.changes
    first = run.run.definition.keys[0].lower()
    key = next(c for c in run.target.columns if c.name.lower() == first)
    if changes is None or not chunk.way.joins_on_keys or key.type not in INTEGERS:
        return None
    span = ports.staging.span(changes, key.name)
    return span and rounded_out(*span, key.type)


def _files(ports: Ports, run: FrozenRun) -> tuple[str, ...] | None:
    """The files of the changes, if these are all that there is to know of them.

    A table names its files. A folder does not, and Spark would apply what is left in it: raises Failed.
    """
    changes = run.current.changes
    if changes is None:
        return None
    if changes.version is None and (why := staging_paths.gone(ports, run.run)):
        raise Failed(
            "staging_lost",
            why,
            left="The target does not hold this chunk.",
            next="Run again: this run is abandoned, and a new one compares everything.",
        )
    return ports.staging.files(changes)


def _stamp(held: UnitTenure, run: FrozenRun, chunk: Chunk) -> Stamp:
    marker = Marker(held.claim.generation, chunk.number)
    seals = seal.sealing(run.current)
    note = Note(
        kind=NoteKind.CHUNK,
        definition=held.whole.name,
        run=run.run.run_id,
        generation=marker.generation,
        unit=held.slot,
        chunk=chunk.number,
        way=chunk.way.value,
        by_vnode=chunk.by_vnode,
        hash_high=chunk.keys.high if chunk.keys else None,
        inputs=digests(run.plan.pins),
        windows=run.run.windows,
        seals=seals,
        cursor=cursor_of(run.run, held.whole.ports.clock.now()) if seals else None,
    )
    return Stamp(app_id=slot_app_id(run.target.table_id, held.slot), marker=marker, note=note)


def _not_committed(held: UnitTenure, chunk: Chunk) -> Retry:
    return Retry(
        "chunk_not_committed",
        f"chunk {chunk.number} of unit {held.slot} was not committed to the target in {APPLY_TRIES} tries",
        left="All chunks before it are committed; the target holds part of the refresh.",
        next=f"Run `airflow-refresh run {held.whole.name}` again; it continues with this chunk.",
    )
