"""Control tables stay small however long they are used, and no reader or writer loses a file that it still needs."""

from __future__ import annotations

import json
import os
import time
from datetime import timedelta
from pathlib import Path

import pytest
from deltalake import DeltaTable, write_deltalake

from airflow_refresh_provider.delta.control import compaction
from airflow_refresh_provider.delta.control.compaction import COMPACT_EVERY, MAINTAIN_EVERY, MERGE_EVERY, Compaction
from airflow_refresh_provider.delta.control.control_table import PROPERTIES, ControlTable
from airflow_refresh_provider.delta.control.replaced_files import KEPT, NOTES
from airflow_refresh_provider.delta.control.state import KEEP_SUPERSEDED
from airflow_refresh_provider.delta.control.store import DeltaControlStore
from airflow_refresh_provider.errors import StaleSnapshot
from tests.contract.samples import REGISTER, event_row, moment, progress_row, record

WEEK = timedelta(days=7).total_seconds()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "control"


@pytest.fixture
def store(root: Path) -> DeltaControlStore:
    found = DeltaControlStore(str(root))
    found.commit(found.read("orders"), record("orders"), REGISTER, moment(0))
    return found


def _on_disk(root: Path, table: str) -> set[str]:
    return {file.name for file in (root / table).glob("*.parquet")}


def _live(root: Path, table: str) -> set[str]:
    return {uri.rpartition("/")[2] for uri in DeltaTable(root / table).file_uris()}


def _notes(root: Path, table: str) -> list[Path]:
    return list((root / table / NOTES).glob("*.json"))


def _age(files: list[Path], seconds: float) -> None:
    """Have files been written so much earlier."""
    for file in files:
        os.utime(file, (time.time() - seconds,) * 2)


def _use(store: DeltaControlStore, commits: int, start: int = 1) -> None:
    for number in range(start, start + commits):
        store.commit(store.read("orders"), record("orders", number), REGISTER, moment(number))
        store.add_progress([progress_row("orders", "r1", number, 1)])
        store.add_event(event_row("orders", "end", number))


def test_replaced_files_are_kept_for_readers_and_deleted_minutes_later(root: Path, store: DeltaControlStore) -> None:
    _use(store, COMPACT_EVERY)
    before = {table: _on_disk(root, table) for table in ("state", "progress", "events")}
    for table, files in before.items():
        assert len(files) > COMPACT_EVERY  # none is deleted while a reader may still read it
        _age(_notes(root, table), KEPT.total_seconds() + 1)
    _use(store, COMPACT_EVERY, COMPACT_EVERY + 1)
    for table, files in before.items():
        assert len(_on_disk(root, table) & files) <= 8, table
    assert store.records() == [record("orders", 2 * COMPACT_EVERY)]
    assert len(store.events("orders")) == 2 * COMPACT_EVERY


def test_files_are_deleted_that_the_log_has_long_forgotten(root: Path, store: DeltaControlStore) -> None:
    """A checkpoint after the retention lists them no more: between two compactions there may be days."""
    _use(store, COMPACT_EVERY)
    replaced = _on_disk(root, "state") - _live(root, "state")
    DeltaTable(root / "state").alter.set_table_properties({"delta.deletedFileRetentionDuration": "interval 0 seconds"})
    DeltaTable(root / "state").create_checkpoint()
    listed = DeltaTable(root / "state").vacuum(0, enforce_retention_duration=False)
    assert len(replaced) >= COMPACT_EVERY and listed == []
    _age(_notes(root, "state"), KEPT.total_seconds() + 1)
    _use(store, COMPACT_EVERY, COMPACT_EVERY + 1)
    assert not replaced & _on_disk(root, "state")


def test_a_replaced_file_that_is_in_the_table_again_is_kept(root: Path, store: DeltaControlStore) -> None:
    _use(store, COMPACT_EVERY - 2)
    version = DeltaTable(root / "events").version()
    events = store.events("orders")
    store.compact()
    assert _notes(root, "events")
    DeltaTable(root / "events").restore(version)
    _age(_notes(root, "events"), KEPT.total_seconds() + 1)
    store.compact()
    assert DeltaControlStore(str(root)).events("orders") == events


def test_notes_of_what_was_replaced_go_with_it(root: Path, store: DeltaControlStore) -> None:
    _use(store, 3)
    store.compact()
    old = _notes(root, "state")
    _age(old, KEPT.total_seconds() + 1)
    _use(store, 3, 4)
    store.compact()
    assert old and not set(old) & set(_notes(root, "state"))


def test_a_file_whose_commit_is_still_to_come_is_kept_for_a_week(root: Path, store: DeltaControlStore) -> None:
    young, old = root / "state" / "part-young.parquet", root / "state" / "part-old.parquet"
    for file in (young, old):
        file.write_bytes(b"")
    _age([young], WEEK - 60)
    _age([old], WEEK + 60)
    store.compact()
    assert young.exists() and not old.exists()
    assert store.records() == [record("orders")]


def test_only_compaction_lists_the_log_to_clean_it(root: Path, store: DeltaControlStore) -> None:
    """It takes longer than a commit."""
    _use(store, COMPACT_EVERY // 2)
    log = root / "state" / "_delta_log"
    old = [file for file in log.iterdir() if file.name[:20].isdigit()]
    _age(old, 3600)
    _use(store, COMPACT_EVERY // 4, 100)
    assert all(file.exists() for file in old)
    _use(store, COMPACT_EVERY // 4, 200)
    assert sum(file.exists() for file in old) <= 2 * int(PROPERTIES["delta.checkpointInterval"])
    assert len(store.records()) == 1


@pytest.mark.usefixtures("store")
def test_a_write_whose_row_was_superseded_and_removed_is_stale(root: Path) -> None:
    """Its process was stopped after the commit, until others had compacted the table."""
    other = DeltaControlStore(str(root))

    class Stopped(ControlTable):
        """Stops after an append."""

        def append(self, view: DeltaTable, rows: list[dict[str, object]], transaction: object = None) -> None:
            super().append(view, rows, transaction)  # type: ignore[arg-type]
            later = moment(5) + 2 * KEEP_SUPERSEDED
            other.commit(other.read("orders"), record("orders", 9), REGISTER, later)
            other.compact()
            DeltaTable(root / "state").create_checkpoint()

    stopped = DeltaControlStore(str(root), Stopped)
    with pytest.raises(StaleSnapshot):
        stopped.commit(stopped.read("orders"), record("orders", 2), REGISTER, moment(5))
    assert other.records() == [record("orders", 9)]


def _history(root: Path, name: str, count: int) -> set[str]:
    """Add a file of events at once; returns the names of the files then."""
    events = ControlTable(str(root), "events")
    view = events.open_or_create()
    at = view.version() * 10_000
    events.append(view, [event_row(name, "end", at + number).model_dump() for number in range(count)])
    return _live(root, "events")


def _order(root: Path, full: int) -> None:
    Compaction(ControlTable(str(root), "events"), {1: (compaction.ordered("name", full),)}).now()


def test_files_of_the_history_that_are_full_are_not_rewritten(root: Path, store: DeltaControlStore) -> None:
    full = _history(root, "orders", 1000)
    for name in ("stock", "orders", "stock"):
        _history(root, name, 300)
    _order(root, full=1000)
    assert full < _live(root, "events") and len(_live(root, "events")) == 2
    assert (len(store.events("orders")), len(store.events("stock"))) == (1300, 600)


def test_rows_of_a_full_file_that_are_as_young_as_those_of_others_are_not_lost(
    root: Path, store: DeltaControlStore
) -> None:
    """The clocks of two writers differ."""
    events = ControlTable(str(root), "events")
    for name, seconds in (("full", range(100)), ("late", range(90, 120)), ("later", range(110, 130))):
        rows = [event_row(name, "end", second).model_dump() for second in seconds]
        events.append(events.open_or_create(), rows)
    _order(root, full=100)
    assert [len(store.events(name)) for name in ("full", "late", "later")] == [100, 30, 20]


def test_events_that_come_while_the_history_is_ordered_are_not_lost(root: Path, store: DeltaControlStore) -> None:
    for number in range(3):
        store.add_event(event_row("orders", "end", number))
    other = DeltaControlStore(str(root))

    def order_late(view: DeltaTable) -> None:
        other.add_event(event_row("orders", "end", 100))
        compaction.ordered("name")(view)

    Compaction(ControlTable(str(root), "events"), {1: (order_late,)}).now()
    assert len(store.events("orders")) == 4
    assert len(_live(root, "events")) == 2  # those that were there lie in one file


def test_a_table_without_rows_is_maintained(root: Path, store: DeltaControlStore) -> None:
    ControlTable(str(root), "progress").open_or_create()
    ControlTable(str(root), "events").open_or_create()
    store.compact()
    assert store.events("orders") == []


def test_every_file_that_a_compaction_replaces_is_noted(root: Path, store: DeltaControlStore) -> None:
    """One that it has written itself, too: rows are removed first, then files are merged."""
    for minutes in (0, 4):
        store.commit(store.read("orders"), record("orders", minutes), REGISTER, moment(60 * minutes))
    store.compact()
    for minutes in (8, 8):
        store.commit(store.read("orders"), record("orders", minutes), REGISTER, moment(60 * minutes))
    before = _on_disk(root, "state")
    store.compact()
    noted = {name for note in _notes(root, "state") for name in json.loads(note.read_text())}
    replaced = _on_disk(root, "state") - _live(root, "state")
    assert noted == replaced
    assert replaced - before, "no file was written and replaced"


def test_what_another_compaction_has_deleted_hinders_none(root: Path, store: DeltaControlStore) -> None:
    _use(store, 5)
    store.compact()
    (note,) = _notes(root, "state")
    first, *others = sorted(json.loads(note.read_text()))
    (root / "state" / first).unlink()
    _age([note], KEPT.total_seconds() + 1)
    _use(store, 2, 6)
    store.compact()
    assert others and not set(others) & _on_disk(root, "state")
    assert not note.exists()


def test_schedules_name_the_rarest_for_all() -> None:
    assert MAINTAIN_EVERY % COMPACT_EVERY == COMPACT_EVERY % MERGE_EVERY == 0


def test_a_foreign_file_in_the_table_is_left(root: Path, store: DeltaControlStore) -> None:
    """Only names of data files that were in the log are ever noted."""
    write_deltalake(root / "state" / "_other", DeltaTable(root / "state").to_pyarrow_table())
    store.compact()
    assert DeltaTable(root / "state" / "_other").version() == 0
