"""The progress index: rows by vnode, for people. Written after each commit, and rebuilt from the log.

Nothing is ever decided from these rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from airflow_refresh_provider.core.log.commits import Commit, Origin, origin
from airflow_refresh_provider.core.log.note import Note, NoteKind, read_note
from airflow_refresh_provider.core.plan.plan import MAX_SLOTS, ChangeCounts, Chunk
from airflow_refresh_provider.core.run.record import Run
from airflow_refresh_provider.core.run.spent import Spent
from airflow_refresh_provider.ports.control import ProgressRow
from airflow_refresh_provider.runner.hold.tenure import UnitTenure

ALL_VNODES = -1
"""This number and those below stand for all vnodes together: of a load straight into an empty target the rows by vnode
are not known. Each of its chunks has a number of its own, as the latest row of a vnode replaces those before.
"""


def chunk_done(held: UnitTenure, run: Run, chunk: Chunk, commit: Commit) -> None:
    """Write the progress of every vnode that a commit covered, and with it what was spent since the chunk before."""
    note = Note(
        kind=NoteKind.CHUNK,
        definition=held.whole.name,
        run=run.run_id,
        generation=held.claim.generation,
        unit=held.slot,
        chunk=chunk.number,
        by_vnode=chunk.by_vnode,
        hash_high=chunk.keys.high if chunk.keys else None,
    )
    ports = held.whole.ports
    with held.meter.storing() as since:
        spent = since + Spent(bytes_written=commit.bytes_added)
        first, *others = rows_of(note, commit, ports.clock.now())
        ports.store.add_progress([first.model_copy(update={"spent": spent.model_dump_json()}), *others])
    held.meter.stored_with_chunk(held.claim.generation, spent)


def from_log(commits: Iterable[Commit], target_id: str, run: str, at: datetime) -> list[ProgressRow]:
    """The progress rows of a run, from its commits."""
    rows: list[ProgressRow] = []
    for commit in commits:
        note = read_note(commit.note)
        if note is None or note.kind is not NoteKind.CHUNK or note.run != run:
            continue
        if origin(commit, target_id, (note.generation,)) is Origin.OURS:
            rows += rows_of(note, commit, at)
    return rows


def rows_of(note: Note, commit: Commit, at: datetime) -> list[ProgressRow]:
    """One row for each vnode of a chunk's commit."""
    counted = note.by_vnode or {_all_vnodes(note): ChangeCounts(inserted=max(0, commit.net_rows or 0))}
    return [
        ProgressRow(
            name=note.definition,
            run_id=note.run,
            vnode=vnode,
            stage="merge",
            unit=note.unit or 0,
            chunk=note.chunk or 0,
            generation=note.generation,
            main_position=note.hash_high,
            staging_position=note.hash_high,
            inserted=counts.inserted,
            updated=counts.updated,
            deleted=counts.deleted,
            bytes=commit.bytes_added // len(counted),
            commit_version=commit.version,
            at=at,
        )
        for vnode, counts in sorted(counted.items())
    ]


def _all_vnodes(note: Note) -> int:
    return ALL_VNODES - MAX_SLOTS * ((note.chunk or 1) - 1) - (note.unit or 0)
