"""An input that was put back to an older state, with its old times or versions, as a cascade reads it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from airflow_refresh_provider.core.changes.pins import Pin
from airflow_refresh_provider.core.definition.inputs import Input
from airflow_refresh_provider.inputs.kinds import input_kinds
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.runner.facts.pinned_inputs import as_asked
from airflow_refresh_provider.testing.memory_control import MemoryControlStore
from airflow_refresh_provider.testing.memory_lake import MemoryLake
from airflow_refresh_provider.testing.memory_ports import memory_ports
from tests.contract.tables import rows, write, write_parquet

Act = Callable[[Path], None]


@pytest.fixture
def ports() -> Ports:
    """Inputs are those on disk; everything else is in memory."""
    return replace(memory_ports(MemoryLake(), MemoryControlStore()), inputs=input_kinds())


def _export(path: Path, count: int, day: int) -> None:
    write_parquet(path, count)
    os.utime(path, (day * 86400, day * 86400))


def _yesterdays_export(path: Path) -> None:
    _export(path / "customer.parquet", 2, day=1)


def _todays_export(path: Path) -> None:
    _export(path / "customer.parquet", 3, day=2)


def _newest_file(path: Path) -> None:
    _export(path / "more.parquet", 3, day=2)


def _without_newest_file(path: Path) -> None:
    (path / "more.parquet").unlink()


def _younger_file(path: Path) -> None:
    _export(path / "another.parquet", 1, day=3)


def _table(path: Path) -> None:
    write(path, rows(1))
    shutil.copytree(path, path.with_name("backup"))


def _younger_versions(path: Path) -> None:
    for n in (2, 3):
        write(path, rows(n))


def _backup(path: Path) -> None:
    shutil.rmtree(path)
    shutil.copytree(path.with_name("backup"), path)


def _another_version(path: Path) -> None:
    write(path, rows(4))


@pytest.mark.parametrize(
    ("format", "begin", "go_on", "put_back", "move"),
    [
        ("parquet", _yesterdays_export, _todays_export, _yesterdays_export, _younger_file),
        ("parquet", _yesterdays_export, _newest_file, _without_newest_file, _younger_file),
        ("delta", _table, _younger_versions, _backup, _another_version),
    ],
    ids=["an older export", "the newest file deleted", "a table from its backup"],
)
def test_an_input_that_was_put_back_is_read_as_the_cascade_has_found_it(
    tmp_path: Path, ports: Ports, format: str, begin: Act, go_on: Act, put_back: Act, move: Act
) -> None:
    place = tmp_path / "in"
    place.mkdir()

    def chosen(asked: Pin, applied: Pin) -> Pin:
        return as_asked(ports, {"x": now()}, {asked.location: asked}, {"x": applied})["x"]

    def now() -> Pin:
        pin: Pin = ports.inputs[format].pin("x", Input(path=str(place), format=format))
        return pin

    begin(place)
    first = now()
    go_on(place)
    applied = now()
    assert chosen(first, applied) == applied
    put_back(place)
    found = now()
    assert chosen(found, applied) == found != applied
    move(place)
    assert chosen(found, applied) == found != now()
