"""Some files of a Delta table as a table of their own: read by others, they have exactly their rows."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
from deltalake import DeltaTable, QueryBuilder, write_deltalake

from airflow_refresh_provider.core.changes.pins import DeltaPin
from airflow_refresh_provider.core.changes.reads import Read
from airflow_refresh_provider.core.changes.sources import ChangeSource, SeparateRows
from airflow_refresh_provider.core.definition.inputs import Input
from airflow_refresh_provider.inputs.kinds import input_kinds

KINDS = input_kinds()


def _write(place: Path, *ids: int) -> DeltaPin:
    write_deltalake(place, pa.table({"id": list(ids), "p": [f"a b/{i % 2}" for i in ids]}), mode="append",
                    partition_by=["p"])  # fmt: skip
    return _pin(place)


def _pin(place: Path) -> DeltaPin:
    pin = KINDS["delta"].pin("x", Input(path=str(place)))
    assert isinstance(pin, DeltaPin)
    return pin


def _changes(applied: DeltaPin, newest: DeltaPin, folder: Path) -> tuple[list[int], list[int]]:
    """The ids of the removed rows, and of the added ones."""
    tables = KINDS["delta"].changes(applied, newest, ChangeSource.FILES, str(folder), {})
    assert isinstance(tables, SeparateRows)
    return _ids(tables.removed), _ids(tables.added)


def _ids(read: Read | None) -> list[int]:
    if read is None:
        return []
    found = QueryBuilder().register("t", DeltaTable(read.location)).execute("SELECT id FROM t ORDER BY id").read_all()
    return [int(i) for i in found["id"].to_pylist()]


def test_added_and_removed_rows_are_in_two_tables(tmp_path: Path) -> None:
    place = tmp_path / "l'a`k e ü"
    first = _write(place, 1, 2, 3, 4)
    second = _write(place, 5, 6)
    assert _changes(first, second, tmp_path / "one") == ([], [5, 6])
    DeltaTable(place).delete("id < 3")
    assert _changes(second, _pin(place), tmp_path / "two") == ([1, 2, 3, 4], [3, 4])
    assert _changes(first, _pin(place), tmp_path / "three") == ([1, 2, 3, 4], [3, 4, 5, 6])


def test_they_can_be_laid_out_again_in_the_same_place(tmp_path: Path) -> None:
    first = _write(tmp_path / "t", 1)
    second = _write(tmp_path / "t", 2)
    for _ in range(2):
        assert _changes(first, second, tmp_path / "again") == ([], [2])
    shutil.rmtree(tmp_path / "again")
    assert DeltaTable(tmp_path / "t").version() == 1
