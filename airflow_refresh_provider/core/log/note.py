"""Notes: what each of our commits says about itself, in the userMetadata of the target's log.

Notes are for people and for rebuilding indexes; markers alone decide whether a chunk is in. The exception is the note
of a seal, or of a chunk that seals its run: it has what a crash between seal and control write must not lose.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from pydantic import ValidationError

from airflow_refresh_provider.core.changes.history import Windows
from airflow_refresh_provider.core.changes.pins import Digests
from airflow_refresh_provider.core.plan.plan import ChangeCounts
from airflow_refresh_provider.core.text.stored import Stored

FORMAT = 1


class NoteKind(StrEnum):
    """The purpose of a commit."""

    CHUNK = "chunk"
    FENCE = "fence"
    SEAL = "seal"


class Sealing(Stored):
    """What the only chunk of a round notes so that it seals its run; the module `seal` has the rule.

    `base` is the version that the round was compared with, `growth` the planned number of additional rows.
    """

    base: int
    growth: int | None = None


class Cursor(Stored):
    """What the next refresh needs to know of a refresh, beside its input versions.

    `tables`: Delta input -> the id of the table that was read. `clocked`: the query reads the clock. `at`: when the
    refresh was complete.
    """

    definition_hash: str
    tables: dict[str, str]
    clocked: bool
    at: datetime


class Note(Stored):
    """The note of one commit.

    `published_version` is set in seals only, `unit` and `chunk` in all others, `cursor` in what seals a run; `by_vnode`
    has the planned rows of a chunk, `hash_high` where it ends inside a vnode, `windows` what an incremental run reads.
    """

    format: int = FORMAT
    kind: NoteKind
    definition: str
    run: str
    generation: int
    unit: int | None = None
    chunk: int | None = None
    way: str | None = None
    by_vnode: dict[int, ChangeCounts] = {}
    hash_high: int | None = None
    inputs: Digests = {}
    windows: Windows = {}
    published_version: int | None = None
    seals: Sealing | None = None
    cursor: Cursor | None = None

    def text(self) -> str:
        """The JSON that goes into the commit."""
        return self.model_dump_json(exclude_none=True, exclude_defaults=False)


def read_note(text: str | None) -> Note | None:
    """The note in a commit's userMetadata, None when it has none of ours."""
    if not text:
        return None
    try:
        return Note.model_validate_json(text)
    except ValidationError:
        return None
