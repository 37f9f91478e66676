"""The cursor restored: what a definition's control tables have lost of its last refresh, read from the target's seal.

A seal is a fact of the target: its published version held the query's rows at its input versions. Whether another
writer has committed since is checked when the next refresh starts, as always.
"""

from __future__ import annotations

from datetime import datetime

from airflow_refresh_provider.core.changes.pins import Pin, VersionVector, table_ids
from airflow_refresh_provider.core.log.note import Cursor, Note
from airflow_refresh_provider.core.log.seal import Seal
from airflow_refresh_provider.core.run.lifecycle import State
from airflow_refresh_provider.core.run.record import Published, Record, Run
from airflow_refresh_provider.core.text.stored import Stored


class Restored(Stored):
    """The cursor, None when nothing is restored; `reason` is what that means for the next refresh, or why not."""

    published: Published | None = None
    reason: str


def cursor_of(run: Run, at: datetime) -> Cursor:
    """The cursor that a run's seal stores."""
    return Cursor(definition_hash=run.definition.hash, tables=table_ids(run.plan.pins), clocked=run.clocked, at=at)


def restored(record: Record, target_id: str, seal: Seal | None, inputs: VersionVector) -> Restored:
    """What can be restored from the newest seal of a target. `inputs` is what the definition's inputs are now."""
    if record.state is not State.IDLE:
        return Restored(reason="nothing is missing: a refresh or a drop is in progress")
    if seal is None:
        return Restored(reason="the target's log holds no seal any more, so the next refresh compares everything")
    note, known = seal.note, record.published
    if note.definition != record.name:
        reason = f"the last refresh of the target was by {note.definition}, so the next one compares everything"
        return Restored(reason=reason)
    if known and known.target_id == target_id and known.seal_version >= seal.version:
        return Restored(reason="nothing is missing: the last refresh is known")
    if note.cursor is None:
        reason = "its last seal does not say which tables were read, so the next refresh compares everything"
        return Restored(reason=reason)
    published = Published(
        run_id=note.run,
        target_id=target_id,
        version=seal.published,
        seal_version=seal.version,
        pins=_applied(note, note.cursor, inputs),
        definition_hash=note.cursor.definition_hash,
        clocked=note.cursor.clocked,
        at=note.cursor.at,
    )
    return Restored(published=published, reason=_meaning(record, published, inputs))


def _applied(note: Note, cursor: Cursor, inputs: VersionVector) -> VersionVector:
    """The versions that were read, as far as they can be restored."""
    found = ((name, _pin(name, digest, cursor, inputs.get(name))) for name, digest in note.inputs.items())
    return {name: pin for name, pin in found if pin is not None}


def _pin(name: str, digest: int | str, cursor: Cursor, now: Pin | None) -> Pin | None:
    """Of files a seal has only the hash of their list: enough to see whether they still are the same."""
    return now.at(digest, cursor.tables.get(name)) if now else None


def _meaning(record: Record, published: Published, inputs: VersionVector) -> str:
    if published.definition_hash != record.definition.hash:
        return "the definition has changed since the last refresh, so the next one compares everything"
    if unknown := sorted(inputs.keys() - published.pins.keys()):
        return f"{', '.join(unknown)} has other files than at the last refresh, so the next one compares everything"
    if published.clocked:
        return "the seal does not say what the query has read of the clock, so the next refresh compares everything"
    return "the next refresh continues where the last one ended"
