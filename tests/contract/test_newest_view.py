"""Readers of the history open its table again only when something was committed to it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from deltalake import DeltaTable

from airflow_refresh_provider.delta.control.control_table import ControlTable
from airflow_refresh_provider.delta.control.newest_view import NewestView
from airflow_refresh_provider.delta.control.store import DeltaControlStore
from tests.contract.samples import event_row


class Counted(ControlTable):
    """A table that counts how often it was opened."""

    opened = 0

    def open(self) -> DeltaTable | None:
        Counted.opened += 1
        return super().open()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    Counted.opened = 0
    return tmp_path / "control"


def test_a_table_is_opened_once_until_something_is_committed(root: Path) -> None:
    other, store = DeltaControlStore(str(root)), DeltaControlStore(str(root), Counted)
    assert store.events("orders") == []
    other.add_event(event_row("orders", "a", 1))
    assert [len(store.events("orders")) for _ in range(3)] == [1, 1, 1]
    assert Counted.opened == 1
    other.add_event(event_row("orders", "b", 1))
    assert [len(store.newest_events("orders", 5)) for _ in range(3)] == [2, 2, 2]
    assert Counted.opened == 2


def test_a_table_that_was_replaced_or_put_back_is_read_as_it_is(root: Path) -> None:
    other, store = DeltaControlStore(str(root)), DeltaControlStore(str(root))
    other.add_event(event_row("orders", "a", 1))
    shutil.copytree(root, root.with_name("backup"))
    other.add_event(event_row("orders", "b", 1))
    assert {row.event for row in store.events("orders")} == {"a", "b"}
    shutil.rmtree(root)
    shutil.copytree(root.with_name("backup"), root)
    assert {row.event for row in store.events("orders")} == {"a"}
    shutil.rmtree(root)
    DeltaControlStore(str(root)).add_event(event_row("orders", "c", 1))
    assert {row.event for row in store.events("orders")} == {"c"}


def test_a_table_that_is_made_later_is_found(root: Path) -> None:
    view = NewestView(ControlTable(str(root), "events"))
    assert view.get() is None
    DeltaControlStore(str(root)).add_event(event_row("orders", "a", 1))
    found = view.get()
    assert found is not None and found is view.get()
