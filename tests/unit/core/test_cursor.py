"""What a seal restores of files: it has only the hash of their list."""

from __future__ import annotations

from datetime import UTC, datetime

from airflow_refresh_provider.core.changes.pins import (
    DeltaPin,
    FilesPin,
    FileStamp,
    VersionVector,
    digests,
    same_versions,
)
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.log.note import Cursor, Note, NoteKind, read_note
from airflow_refresh_provider.core.log.seal import Seal
from airflow_refresh_provider.core.query.facts import QueryFacts
from airflow_refresh_provider.core.run.cursor import restored
from airflow_refresh_provider.core.run.record import Record

FACTS = QueryFacts(tables=(), clock_spans=(), row_wise=False)

AT = datetime(2024, 1, 1, tzinfo=UTC)
DEFINITION = Definition.build(
    name="d",
    target="/t",
    query="SELECT * FROM a JOIN b USING (k)",
    inputs={"a": {"path": "/a"}, "b": {"path": "/b", "format": "parquet"}},
    keys=["k"],
)


def read(size: int) -> VersionVector:
    files = (FileStamp(path="/b/1", size=size, modified=1),)
    return {
        "a": DeltaPin(location="/a", table_id="ta", version=4),
        "b": FilesPin(format="parquet", location="/b", files=files),
    }


def seal(**changes: object) -> Seal:
    cursor = Cursor(definition_hash=DEFINITION.hash, tables={"a": "ta"}, clocked=False, at=AT)
    note = Note(
        kind=NoteKind.SEAL,
        definition="d",
        run="r",
        generation=3,
        inputs=digests(read(10)),
        published_version=8,
        cursor=cursor,
    )
    note_read = read_note(note.model_copy(update=changes).text())
    assert note_read is not None
    return Seal(note_read, 8, 9)


def test_files_that_are_still_the_same_are_restored() -> None:
    found = restored(Record(facts=FACTS, name="d", definition=DEFINITION), "t", seal(), read(10))
    assert found.published is not None
    assert same_versions(found.published.pins, read(10))
    assert found.reason == "the next refresh continues where the last one ended"


def test_files_that_have_changed_are_not_and_the_reason_says_so() -> None:
    found = restored(Record(facts=FACTS, name="d", definition=DEFINITION), "t", seal(), read(11))
    assert found.published is not None
    assert set(found.published.pins) == {"a"}
    assert found.reason.startswith("b has other files than at the last refresh")


def test_a_seal_without_a_cursor_restores_nothing() -> None:
    found = restored(Record(facts=FACTS, name="d", definition=DEFINITION), "t", seal(cursor=None), read(10))
    assert found.published is None
    assert "does not say which tables" in found.reason
