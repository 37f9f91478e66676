"""Seals: the commit that says that a run's result is completely in the target.

A run of several chunks is sealed by a commit of its own, after the gate. A round of one chunk needs none: its commit is
the seal, if no other writer has committed between the comparison and it, and the target grew as planned. Both can be
read from the log, so that a later owner decides as this one did.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from airflow_refresh_provider.core.log.commits import Commit, Origin, origin
from airflow_refresh_provider.core.log.marker import Marker, seal_app_id, slot_app_id
from airflow_refresh_provider.core.log.note import Note, NoteKind, Sealing, read_note
from airflow_refresh_provider.core.plan.plan import Round


class Seal(NamedTuple):
    """A sealed run: the note of the seal, the version to publish, and the version of the commit."""

    note: Note
    published: int
    version: int


def planned_growth(current: Round) -> int | None:
    """By how many rows a round's chunks grow the target; None where that is only known when they are in.

    Where deletes are ignored, rows that left the query are still there. A window does not show that a row which comes
    back is one of them; the growth does, and then a comparison follows.
    """
    if current.changes is None:
        return None
    return sum(c.counts.net for u in current.units for c in u.chunks)


def sealing(current: Round) -> Sealing | None:
    """What the chunk of a round has to note so that it seals its run; None when the round has several.

    Also None when it reads inputs: whether these are unchanged is only known once it is in.
    """
    if current.reads_inputs or sum(len(u.chunks) for u in current.units) != 1:
        return None
    return Sealing(base=current.base, growth=planned_growth(current))


def seals(commits: Iterable[Commit], target_id: str) -> Iterator[Seal]:
    """The seals that successive commits show, oldest first."""
    seen: list[Commit] = []
    for commit in commits:
        note = read_note(commit.note)
        published = _published_by(note, commit, seen, target_id) if note else None
        if note and published is not None:
            yield Seal(note, published, commit.version)
        seen.append(commit)


def find_seal(commits: Iterable[Commit], target_id: str, run_id: str) -> Seal | None:
    """The seal of a run, None when these commits do not show that it is sealed."""
    return next((s for s in seals(commits, target_id) if s.note.run == run_id), None)


def _published_by(note: Note, commit: Commit, before: Sequence[Commit], target_id: str) -> int | None:
    if note.kind is NoteKind.SEAL:
        return note.published_version if seal_app_id(target_id) in commit.txns else None
    if note.kind is not NoteKind.CHUNK or note.seals is None or not _is_work(commit, note, target_id):
        return None
    between = [c for c in before if c.version > note.seals.base]
    complete = len(between) == commit.version - note.seals.base - 1
    alone = complete and all(origin(c, target_id, ()) is Origin.NEUTRAL for c in between)
    as_planned = None in (note.seals.growth, commit.net_rows) or note.seals.growth == commit.net_rows
    return commit.version if alone and as_planned else None


def _is_work(commit: Commit, note: Note, target_id: str) -> bool:
    """Whether a commit has the marker of its note: a table that was restored has old ones."""
    if note.unit is None or note.chunk is None or origin(commit, target_id, {note.generation}) is not Origin.OURS:
        return False
    return commit.txns.get(slot_app_id(target_id, note.unit)) == Marker(note.generation, note.chunk).version
