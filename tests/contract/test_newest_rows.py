"""The state of a definition is followed through the log: how often the table is opened, and that nothing is missed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from deltalake import DeltaTable

from airflow_refresh_provider.delta.control import newest_rows
from airflow_refresh_provider.delta.control.control_table import ControlTable
from airflow_refresh_provider.delta.control.store import DeltaControlStore
from tests.contract.samples import REGISTER, moment, record


@dataclass(frozen=True)
class Counted(ControlTable):
    """A control table that counts how often it is opened."""

    opened: list[str] = field(default_factory=list, compare=False)

    def open(self) -> DeltaTable | None:
        """Open and count."""
        self.opened.append(self.name)
        return super().open()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "control"


@pytest.fixture
def opened() -> list[str]:
    return []


@pytest.fixture
def store(root: Path, opened: list[str]) -> DeltaControlStore:
    return DeltaControlStore(str(root), lambda place, name: Counted(place, name, opened=opened))


@pytest.fixture
def other(root: Path) -> DeltaControlStore:
    """Another process."""
    return DeltaControlStore(str(root))


def _write(store: DeltaControlStore, name: str, *generations: int) -> None:
    for generation in generations:
        store.commit(store.read(name), record(name, generation), REGISTER, moment(generation))


def _generation(store: DeltaControlStore, name: str) -> int | None:
    found = store.read(name).record
    return found.generation if found else None


def _free(opened: list[str], act: Callable[[], object]) -> object:
    """What an act returns that must not open the table."""
    opened.clear()
    found = act()
    assert opened == []
    return found


def test_reading_again_opens_nothing_whatever_else_was_written(
    store: DeltaControlStore, other: DeltaControlStore, opened: list[str]
) -> None:
    _write(other, "orders", 1)
    assert _generation(store, "orders") == 1
    _write(other, "customers", 1, 2, 3)
    other.compact()
    assert _free(opened, lambda: _generation(store, "orders")) == 1


def test_a_write_opens_the_table_once_and_what_it_wrote_is_read_without(
    store: DeltaControlStore, opened: list[str]
) -> None:
    _write(store, "orders", 1)
    view = store.read("orders")
    opened.clear()
    store.commit(view, record("orders", 2), REGISTER, moment(2))
    assert opened == ["state"]
    assert _free(opened, lambda: _generation(store, "orders")) == 2


def test_a_write_of_another_process_is_read(store: DeltaControlStore, other: DeltaControlStore) -> None:
    _write(store, "orders", 1)
    assert _generation(store, "orders") == 1
    for generation in (2, 3):
        _write(other, "orders", generation)
        assert _generation(store, "orders") == generation


def test_a_list_of_all_definitions_saves_opening_the_table_for_each(
    store: DeltaControlStore, other: DeltaControlStore, opened: list[str]
) -> None:
    names = [f"table_{n}" for n in range(5)]
    for name in names:
        _write(other, name, 1, 2)
    assert [r.generation for r in store.records()] == [2] * 5
    assert _free(opened, lambda: [_generation(store, name) for name in names]) == [2] * 5


def test_a_second_list_of_all_definitions_opens_the_table_only_for_what_is_new(
    store: DeltaControlStore, other: DeltaControlStore, opened: list[str]
) -> None:
    for n in range(3):
        _write(other, f"table_{n}", 1)
    assert [r.generation for r in store.records()] == [1, 1, 1]
    assert _free(opened, lambda: [r.generation for r in store.records()]) == [1, 1, 1]
    _write(other, "table_1", 2)
    _write(other, "table_3", 1)
    assert [(r.name, r.generation) for r in store.records()] == [
        ("table_0", 1),
        ("table_1", 2),
        ("table_2", 1),
        ("table_3", 1),
    ]
    assert opened == ["state", "state"]


def test_a_list_after_many_changes_reads_the_table_once(
    store: DeltaControlStore, other: DeltaControlStore, opened: list[str]
) -> None:
    names = [f"table_{n:02}" for n in range(12)]
    for name in names:
        _write(other, name, 1)
    assert len(store.records()) == 12
    for name in names:
        _write(other, name, 2)
    opened.clear()
    assert [r.generation for r in store.records()] == [2] * 12
    assert opened == ["state"]


def test_a_list_that_knows_one_definition_does_not_miss_the_others(
    store: DeltaControlStore, other: DeltaControlStore
) -> None:
    for name in ("orders", "customers"):
        _write(other, name, 1)
    assert _generation(store, "orders") == 1
    assert [r.name for r in store.records()] == ["customers", "orders"]


def test_a_table_that_was_put_back_is_read_as_it_is(
    root: Path, store: DeltaControlStore, other: DeltaControlStore
) -> None:
    _write(other, "orders", 1)
    shutil.copytree(root, root.with_name("backup"))
    _write(other, "orders", 2)
    assert _generation(store, "orders") == 2
    assert [r.generation for r in store.records()] == [2]
    shutil.rmtree(root)
    shutil.copytree(root.with_name("backup"), root)
    assert [r.generation for r in store.records()] == [1]
    assert _generation(store, "orders") == 1
    _write(DeltaControlStore(str(root)), "orders", 7)
    assert _generation(store, "orders") == 7


def test_a_log_that_has_grown_long_or_was_cleaned_is_not_followed_blindly(
    root: Path, store: DeltaControlStore, other: DeltaControlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(newest_rows, "_FOLLOWED", 2)
    _write(other, "orders", 1)
    assert _generation(store, "orders") == 1
    _write(other, "orders", 2)
    _write(other, "customers", 1, 2)
    assert _generation(store, "orders") == 2
    _write(other, "orders", 3)
    table = DeltaTable(root / "state")
    table.create_checkpoint()
    _write(other, "customers", 3)
    (root / "state" / "_delta_log" / f"{table.version():020}.json").unlink()
    assert _generation(store, "orders") == 3


def test_a_row_that_was_seen_in_an_old_view_does_not_hide_a_newer_one(root: Path, other: DeltaControlStore) -> None:
    """A thread that was slow between opening the table and noting what it saw."""
    _write(other, "orders", 1)
    _write(other, "customers", 1)
    rows = newest_rows.NewestRows(str(root / "state"))
    first = newest_rows.StoredRow(1, record("orders", 1).model_dump_json())
    rows.seen(2, {"definition/customers": first})
    rows.seen(1, {"definition/orders": first})
    assert rows.of("definition/orders") is None
    rows.seen(2, {"definition/orders": first})
    assert rows.of("definition/orders") == first
    _write(other, "orders", 2)
    rows.seen(2, {"definition/orders": first})
    assert rows.of("definition/orders") is None
