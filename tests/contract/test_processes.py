"""Control tables under processes that race for them, are killed, or never learn what became of a commit."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from airflow_refresh_provider.delta import control_table
from airflow_refresh_provider.delta.control_table import ControlTable
from airflow_refresh_provider.delta.store import DeltaControlStore
from airflow_refresh_provider.errors import Failed, Retry, StaleSnapshot
from tests.contract.samples import REGISTER, moment, record
from tests.contract.writers import race

CHECKOUT = Path(__file__).parents[2]
WORKERS = 4


def _raced(root: Path, names: list[str], rounds: int) -> list[int]:
    with ProcessPoolExecutor(len(names), mp_context=get_context("spawn")) as pool:
        return list(pool.map(race, [str(root)] * len(names), names, [rounds] * len(names)))


def test_of_processes_that_race_for_one_definition_exactly_one_wins_each_round(tmp_path: Path) -> None:
    rounds = 40
    won = _raced(tmp_path / "control", ["orders"] * WORKERS, rounds)
    assert sum(won) == rounds
    table = DeltaTable(tmp_path / "control" / "state")
    rows = ControlTable(str(tmp_path / "control"), "state").select(table, "SELECT seq FROM state ORDER BY seq")
    assert [row["seq"] for row in rows] == list(range(1, rounds + 1))


def test_processes_that_write_different_definitions_all_win(tmp_path: Path) -> None:
    names = [f"definition_{n}" for n in range(WORKERS)]
    assert _raced(tmp_path / "control", names, 25) == [25] * WORKERS
    assert [(r.name, r.generation) for r in DeltaControlStore(str(tmp_path / "control")).records()] == [
        (name, 25) for name in names
    ]


def test_a_store_whose_writers_are_killed_stays_whole(tmp_path: Path) -> None:
    root = str(tmp_path / "control")
    stored = 0
    for commits in (1, 2, 3, 5, 8, 13, 21, 34):
        writer = subprocess.Popen(
            [sys.executable, "-m", "tests.contract.writers", root, "orders"],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        )
        assert writer.stdout is not None
        for _ in range(commits):
            stored = int(writer.stdout.readline())
        writer.kill()
        writer.wait()
        writer.stdout.close()
        found = DeltaControlStore(root).read("orders").record
        assert found is not None and found.generation >= stored
    store = DeltaControlStore(root)
    assert len(store.progress("orders", "r1")) == 4
    view = store.read("orders")
    store.commit(view, record("orders", 0), REGISTER, moment(0))
    assert store.records() == [record("orders", 0)]


def _fail_after(monkeypatch: pytest.MonkeyPatch, before: Any, after: Any) -> None:
    """Let the next append do `before`, commit unless that raises, then do `after`."""
    append = ControlTable.append

    def once(*args: Any, **kwargs: Any) -> None:
        monkeypatch.setattr(ControlTable, "append", append)
        before()
        append(*args, **kwargs)
        after()

    monkeypatch.setattr(ControlTable, "append", once)


def _lose_the_answer() -> None:
    raise DeltaError("connection reset by peer\nat some depth")


def _nothing() -> None:
    return


def test_a_commit_that_landed_without_an_answer_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = DeltaControlStore(str(tmp_path / "control"))
    view = store.commit(store.read("orders"), record("orders", 1), REGISTER, moment(0))
    _fail_after(monkeypatch, _nothing, _lose_the_answer)
    view = store.commit(view, record("orders", 2), REGISTER, moment(1))
    store.commit(view, record("orders", 3), REGISTER, moment(2))
    assert store.records() == [record("orders", 3)]


def test_a_commit_without_an_answer_that_did_not_land_may_be_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = DeltaControlStore(str(tmp_path / "control"))
    view = store.commit(store.read("orders"), record("orders", 1), REGISTER, moment(0))
    _fail_after(monkeypatch, _lose_the_answer, _nothing)
    with pytest.raises(Retry, match=r"connection reset by peer$"):
        store.commit(view, record("orders", 2), REGISTER, moment(1))
    assert store.records() == [record("orders", 1)]
    store.commit(store.read("orders"), record("orders", 2), REGISTER, moment(1))
    assert store.records() == [record("orders", 2)]


def test_a_commit_without_an_answer_that_another_one_beat_is_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = DeltaControlStore(str(tmp_path / "control"))
    view = store.commit(store.read("orders"), record("orders", 1), REGISTER, moment(0))

    def beaten() -> None:
        rival = DeltaControlStore(str(tmp_path / "control"))
        rival.commit(rival.read("orders"), record("orders", 9), REGISTER, moment(1))
        _lose_the_answer()

    _fail_after(monkeypatch, beaten, _nothing)
    with pytest.raises(StaleSnapshot):
        store.commit(view, record("orders", 2), REGISTER, moment(1))
    assert store.records() == [record("orders", 9)]


def test_a_commit_that_landed_counts_though_others_followed_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = DeltaControlStore(str(tmp_path / "control"))
    view = store.commit(store.read("orders"), record("orders", 1), REGISTER, moment(0))

    def followed() -> None:
        rival = DeltaControlStore(str(tmp_path / "control"))
        rival.commit(rival.read("orders"), record("orders", 9), REGISTER, moment(2))
        _lose_the_answer()

    _fail_after(monkeypatch, _nothing, followed)
    view = store.commit(view, record("orders", 2), REGISTER, moment(1))
    with pytest.raises(StaleSnapshot):
        store.commit(view, record("orders", 3), REGISTER, moment(3))
    assert store.records() == [record("orders", 9)]


def test_a_failing_compaction_does_not_fail_the_commit_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: ControlTable) -> None:
        raise Failed("disk_full", "no room", left="", next="")

    monkeypatch.setattr(control_table, "COMPACT_EVERY", 1)
    monkeypatch.setattr(ControlTable, "compact", broken)
    store = DeltaControlStore(str(tmp_path / "control"))
    store.commit(store.read("orders"), record("orders", 1), REGISTER, moment(0))
    assert store.records() == [record("orders", 1)]
