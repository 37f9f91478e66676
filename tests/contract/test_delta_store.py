"""What the stored control store promises beyond the contract: small, safe to create, honest about bad places."""

from __future__ import annotations

import json
import shutil
from datetime import timedelta
from functools import partial
from pathlib import Path
from random import Random

import pytest
from deltalake import DeltaTable, Transaction, write_deltalake

from airflow_refresh_provider.core.query.facts import QueryFacts
from airflow_refresh_provider.core.run.owner import Beat
from airflow_refresh_provider.core.run.record import RECORD_FORMAT, Record
from airflow_refresh_provider.delta.control import compaction
from airflow_refresh_provider.delta.control.control_table import ControlTable, Row
from airflow_refresh_provider.delta.control.state import KEEP_SUPERSEDED
from airflow_refresh_provider.delta.control.store import EVENTS_KEPT, PROGRESS_KEPT, DeltaControlStore
from airflow_refresh_provider.delta.control.stored_columns import PROGRESS, schema_of, table_of
from airflow_refresh_provider.errors import Failed, Invalid, Refused, Retry, StaleSnapshot
from tests.contract.samples import REGISTER, event_row, moment, progress_row, record
from tests.contract.troubled import Troubled

FACTS = QueryFacts(tables=(), clock_spans=(), row_wise=False)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "control"


def _rows(root: Path, table: str = "state") -> int:
    return sum(DeltaTable(root / table).get_add_actions(flatten=True)["num_records"].to_pylist())


def _files(root: Path, table: str = "state") -> int:
    return DeltaTable(root / table).get_add_actions(flatten=True).num_rows


def test_reading_creates_nothing(root: Path) -> None:
    store = DeltaControlStore(str(root))
    assert store.records() == []
    assert store.read("orders").record is None
    store.beat("orders", "r1", None, Beat(generation=1, at=moment(0)))
    store.compact()
    assert not root.exists()


def test_a_view_of_a_missing_root_can_be_written_through(root: Path) -> None:
    store = DeltaControlStore(str(root))
    stale = store.read("orders")
    store.commit(store.read("orders"), record("orders", 1), REGISTER, moment(0))
    assert [r.generation for r in store.records()] == [1]
    with pytest.raises(StaleSnapshot):
        store.commit(stale, record("orders", 2), REGISTER, moment(0))


def test_a_record_that_was_seen_is_not_read_again_while_it_is_the_newest(root: Path) -> None:
    store, other = DeltaControlStore(str(root)), DeltaControlStore(str(root))
    store.commit(store.read("orders"), record("orders", 1), REGISTER, moment(0))
    assert store.read("orders").record == record("orders", 1)
    for file in (root / "state").glob("*.parquet"):
        file.rename(file.with_suffix(".away"))
    assert store.read("orders").record == record("orders", 1)
    with pytest.raises(Retry):
        other.read("orders")
    for file in (root / "state").glob("*.away"):
        file.rename(file.with_suffix(".parquet"))
    other.commit(other.read("orders"), record("orders", 2), REGISTER, moment(1))
    assert store.read("orders").record == record("orders", 2)


def test_a_record_of_a_root_that_was_replaced_is_not_taken_for_the_new_one(root: Path) -> None:
    store = DeltaControlStore(str(root))
    store.commit(store.read("orders"), record("orders", 1), REGISTER, moment(0))
    assert store.read("orders").record == record("orders", 1)
    shutil.rmtree(root)
    other = DeltaControlStore(str(root))
    other.commit(other.read("orders"), record("orders", 7), REGISTER, moment(0))
    assert store.read("orders").record == record("orders", 7)


def test_the_folders_of_an_embedded_spark_and_of_staging_may_be_there_first(root: Path) -> None:
    for folder in (".spark", "staging"):
        (root / folder).mkdir(parents=True)
    assert DeltaControlStore(str(root)).control_id


def test_a_folder_with_other_things_is_never_made_a_control_root(root: Path) -> None:
    root.mkdir()
    (root / "thesis.tex").write_text("dear reader")
    store = DeltaControlStore(str(root))
    assert store.read("orders").record is None
    with pytest.raises(Refused, match=r"thesis\.tex"):
        store.commit(store.read("orders"), record("orders"), REGISTER, moment(0))
    assert [p.name for p in root.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("below", ["", "control"])
def test_a_file_is_never_made_or_read_as_a_control_root(root: Path, below: str) -> None:
    root.write_text("not a folder")
    store = DeltaControlStore(str(root / below))
    with pytest.raises(Refused, match=f"{root} is a file"):
        store.control_id  # noqa: B018 - asking is what is tested
    with pytest.raises(Refused, match=f"{root} is a file"):
        store.records()


def test_control_tables_that_have_lost_their_mark_are_damaged_and_not_absent(root: Path) -> None:
    store = DeltaControlStore(str(root))
    store.commit(store.read("orders"), record("orders"), REGISTER, moment(0))
    (root / "control.json").unlink()
    for use in (lambda s: s.records(), lambda s: s.control_id):
        with pytest.raises(Failed, match=r"control\.json is gone") as caught:
            use(DeltaControlStore(str(root)))
        assert caught.value.code == "control_damaged"


@pytest.mark.parametrize("place", ["/data/100%/control", "/data/back\\slash", "/data/new\nline"])
def test_places_that_cannot_be_addressed_are_refused_at_once(place: str) -> None:
    with pytest.raises(Invalid, match="cannot be kept"):
        DeltaControlStore(place)


def test_control_tables_of_a_newer_format_are_refused_by_every_reader_and_writer(root: Path) -> None:
    store = DeltaControlStore(str(root))
    view = store.commit(store.read("orders"), record("orders"), REGISTER, moment(0))
    mark = json.loads((root / "control.json").read_text())
    (root / "control.json").write_text(json.dumps({**mark, "format": 2, "something": "new"}))
    newer = DeltaControlStore(str(root))
    for act in (
        newer.records,
        lambda: newer.read("orders"),
        lambda: newer.commit(view, record("orders", 1), REGISTER, moment(1)),
        lambda: newer.add_event(event_row("orders", "x", 1)),
        lambda: newer.control_id,
    ):
        with pytest.raises(Invalid) as caught:
            act()
        assert caught.value.code == "newer_control_format" and caught.value.exit_code == 2


def test_a_damaged_mark_is_named(root: Path) -> None:
    root.mkdir()
    (root / "control.json").write_text("{")
    with pytest.raises(Failed, match=r"control\.json cannot be read"):
        DeltaControlStore(str(root)).records()


def test_small_files_are_merged_along_the_way(root: Path) -> None:
    store = DeltaControlStore(str(root))
    view = store.read("orders")
    for generation in range(compaction.COMPACT_EVERY + 2):
        view = store.commit(view, record("orders", generation), REGISTER, moment(generation))
        store.add_progress([progress_row("orders", "r1", generation, 1)])
    assert _files(root) <= 3 and _files(root, "progress") <= 3
    assert len(store.progress("orders", "r1")) == compaction.COMPACT_EVERY + 2


def test_files_of_the_history_are_merged_before_it_is_compacted_and_larger_ones_are_left_alone(root: Path) -> None:
    store = DeltaControlStore(str(root))
    store.commit(store.read("orders"), record("orders"), REGISTER, moment(0))
    events = ControlTable(str(root), "events")
    large = event_row("orders", Random(0).randbytes(600_000).hex(), 0)
    events.append(events.open_or_create(), [large.model_dump()])
    before = set(DeltaTable(root / "events").file_uris())
    for number in range(3 * compaction.MERGE_EVERY):
        store.add_event(event_row("orders", "end", number))
    files = set(DeltaTable(root / "events").file_uris())
    assert before < files and len(files) <= compaction.MERGE_EVERY + 1
    assert len(store.events("orders")) == 3 * compaction.MERGE_EVERY + 1


def test_superseded_rows_are_dropped_after_minutes_and_the_newest_never(root: Path) -> None:
    store = DeltaControlStore(str(root))
    store.commit(store.read("old"), record("old", 1), REGISTER, moment(0))
    view = store.read("orders")
    last = 9 * KEEP_SUPERSEDED
    for generation, after in enumerate((0 * last, last / 9, last - KEEP_SUPERSEDED, last), start=1):
        view = store.commit(view, record("orders", generation), REGISTER, moment(0) + after)
    store.compact()
    assert _rows(root) == 3  # the newest of both, and one that is exactly so old
    assert store.records() == [record("old", 1), record("orders", 4)]


def test_progress_is_dropped_after_a_week(root: Path) -> None:
    store = DeltaControlStore(str(root))
    store.commit(store.read("orders"), record("orders"), REGISTER, moment(0))
    old, young = progress_row("orders", "old", 1, 1), progress_row("orders", "young", 2, 1)
    store.add_progress([old])
    store.add_progress([young.model_copy(update={"at": old.at + PROGRESS_KEPT})])
    store.compact()
    assert len(store.progress("orders", "old")) == 1
    store.add_progress([young.model_copy(update={"at": old.at + PROGRESS_KEPT + timedelta(seconds=1)})])
    store.compact()
    assert (store.progress("orders", "old"), len(store.progress("orders", "young"))) == ([], 2)


def test_a_view_from_before_old_rows_were_dropped_can_be_written_through(root: Path) -> None:
    store = DeltaControlStore(str(root))
    store.commit(store.read("old"), record("old", 1), REGISTER, moment(0))
    view = store.commit(store.read("orders"), record("orders", 1), REGISTER, moment(0))
    store.commit(view, record("orders", 2), REGISTER, moment(0) + 2 * KEEP_SUPERSEDED)
    idle = store.read("old")
    store.compact()
    store.commit(idle, record("old", 2), REGISTER, moment(1))
    assert [r.generation for r in store.records()] == [2, 2]


def test_a_write_that_meets_the_removal_of_old_rows_is_stale_and_is_made_when_it_is_repeated(root: Path) -> None:
    other = DeltaControlStore(str(root))
    other.commit(other.read("old"), record("old", 1), REGISTER, moment(0))
    view = other.commit(other.read("orders"), record("orders", 1), REGISTER, moment(0))
    other.commit(view, record("orders", 2), REGISTER, moment(0) + 2 * KEEP_SUPERSEDED)
    store = DeltaControlStore(str(root), partial(Troubled, before=[other.compact]))
    with pytest.raises(StaleSnapshot):
        store.commit(store.read("old"), record("old", 2), REGISTER, moment(1))
    store.commit(store.read("old"), record("old", 2), REGISTER, moment(1))
    assert [r.generation for r in store.records()] == [2, 2]


def test_a_record_of_a_newer_version_is_refused(root: Path) -> None:
    store = DeltaControlStore(str(root))
    newer = record("orders").model_copy(update={"format": RECORD_FORMAT + 1})
    store.commit(store.read("orders"), newer, REGISTER, moment(0))
    with pytest.raises(Invalid, match="written by a newer version") as caught:
        store.read("orders")
    assert caught.value.code == "newer_control_format"


def test_a_record_this_program_cannot_have_written_is_named(root: Path) -> None:
    class Later(Record):
        """What a record may be to a later version."""

        napping: bool = True

    store = DeltaControlStore(str(root))
    later = Later(facts=FACTS, name="orders", definition=record("orders").definition)
    store.commit(store.read("orders"), later, REGISTER, moment(0))
    with pytest.raises(Failed) as caught:
        store.read("orders")
    assert caught.value.code == "record_unreadable"


def test_tables_of_an_earlier_version_get_the_properties_that_keep_them_small(root: Path) -> None:
    store = DeltaControlStore(str(root))
    store.commit(store.read("orders"), record("orders"), REGISTER, moment(0))
    table = DeltaTable(root / "state")
    table.alter.set_table_properties({"delta.logRetentionDuration": "interval 7 days"})
    store.compact()
    assert DeltaTable(root / "state").metadata().configuration["delta.logRetentionDuration"] == "interval 5 minutes"


def test_a_write_to_a_part_of_the_log_that_was_cleaned_is_stale(root: Path) -> None:
    """As by a process that was stopped for hours just before its commit."""
    other = DeltaControlStore(str(root))

    class Stopped(ControlTable):
        def append(self, view: DeltaTable, rows: list[Row], transaction: Transaction | None = None) -> None:
            if rows[0]["generation"] == 99:
                newest = other.read("orders")
                for generation in range(2, 5):
                    newest = other.commit(newest, record("orders", generation), REGISTER, moment(generation))
                DeltaTable(root / "state").create_checkpoint()
                for version in range(view.version() + 1, view.version() + 4):
                    (root / "state" / "_delta_log" / f"{version:020}.json").unlink()
            super().append(view, rows, transaction)

    store = DeltaControlStore(str(root), Stopped)
    view = store.commit(store.read("orders"), record("orders", 1), REGISTER, moment(0))
    with pytest.raises(StaleSnapshot):
        store.commit(view, record("orders", 99), REGISTER, moment(9))
    assert other.records() == [record("orders", 4)]


def test_history_is_dropped_after_three_months(root: Path) -> None:
    store = DeltaControlStore(str(root))
    store.commit(store.read("orders"), record("orders"), REGISTER, moment(0))
    store.add_event(event_row("orders", "old", 0))
    store.add_event(event_row("orders", "young", EVENTS_KEPT.total_seconds() + 1))
    store.compact()
    assert [event.event for event in store.events("orders")] == ["young"]


def _progress_of_an_earlier_version(root: Path) -> None:
    """A table of progress without the column that says what was spent, with one row."""
    DeltaControlStore(str(root)).commit(
        DeltaControlStore(str(root)).read("orders"), record("orders"), REGISTER, moment(0)
    )
    columns = tuple(column for column in PROGRESS if column.name != "spent")
    place = str(root / "progress")
    DeltaTable.create(place, schema=schema_of(columns))
    write_deltalake(place, table_of(columns, [progress_row("orders", "r1", 0, 1).model_dump()]), mode="append")


def test_progress_of_an_earlier_version_is_read_and_is_given_the_new_column_by_the_next_write(root: Path) -> None:
    _progress_of_an_earlier_version(root)
    older = progress_row("orders", "r1", 0, 1)
    assert DeltaControlStore(str(root)).progress("orders", "r1") == [older]
    newer = progress_row("orders", "r1", 0, 2, seconds=1, spent="{}")
    DeltaControlStore(str(root)).add_progress([newer])
    assert DeltaControlStore(str(root)).progress("orders", "r1") == [older, newer]


def test_a_column_that_another_writer_has_added_meanwhile_is_used(root: Path) -> None:
    _progress_of_an_earlier_version(root)
    table = ControlTable(str(root), "progress")
    stale = table.open()
    table.open_or_create()
    assert stale is not None
    assert "spent" in {field.name for field in table.completed(stale).schema().fields}
