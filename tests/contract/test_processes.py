"""Control tables under processes that race for them, are killed, or never learn what became of a commit."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import ClassVar

import pytest
from deltalake import DeltaTable

from airflow_refresh_provider.delta.control.compaction import COMPACT_EVERY
from airflow_refresh_provider.delta.control.control_table import ControlTable
from airflow_refresh_provider.delta.control.store import DeltaControlStore
from airflow_refresh_provider.errors import Interrupted, Retry, StaleSnapshot
from tests.contract.samples import REGISTER, moment, record
from tests.contract.troubled import Full, Troubled, lose_the_answer
from tests.contract.writers import race

CHECKOUT = Path(__file__).parents[2]
WORKERS = 4


def _raced(root: Path, names: list[str], rounds: int) -> list[int]:
    with ProcessPoolExecutor(len(names), mp_context=get_context("spawn")) as pool:
        return list(pool.map(race, [str(root)] * len(names), names, [rounds] * len(names)))


def test_of_processes_that_race_for_one_definition_exactly_one_wins_each_round(tmp_path: Path) -> None:
    rounds = 20
    won = _raced(tmp_path / "control", ["orders"] * WORKERS, rounds)
    assert sum(won) == rounds
    table = DeltaTable(tmp_path / "control" / "state")
    rows = ControlTable(str(tmp_path / "control"), "state").select(table, "SELECT seq FROM state ORDER BY seq")
    assert [row["seq"] for row in rows] == list(range(1, rounds + 1))


def test_processes_that_write_different_definitions_all_win(tmp_path: Path) -> None:
    names = [f"definition_{n}" for n in range(WORKERS)]
    assert _raced(tmp_path / "control", names, 10) == [10] * WORKERS
    assert [(r.name, r.generation) for r in DeltaControlStore(str(tmp_path / "control")).records()] == [
        (name, 10) for name in names
    ]


def test_a_store_whose_writers_are_killed_stays_whole(tmp_path: Path) -> None:
    root = str(tmp_path / "control")
    stored = 0
    for commits in (1, 3, 13, 50):
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
    assert len({row.vnode for row in store.progress("orders", "r1")}) == 4
    view = store.read("orders")
    store.commit(view, record("orders", 0), REGISTER, moment(0))
    assert store.records() == [record("orders", 0)]


@pytest.fixture
def root(tmp_path: Path) -> str:
    """A control root with the first record of a definition."""
    root = str(tmp_path / "control")
    _commit(DeltaControlStore(root), 1)
    return root


def _commit(store: DeltaControlStore, generation: int) -> None:
    """Store a record, whatever was before it."""
    store.commit(store.read("orders"), record("orders", generation), REGISTER, moment(generation))


def _beat_to_it(root: str) -> None:
    """Another one stores a record, and the answer to this one is lost."""
    _commit(DeltaControlStore(root), 9)
    lose_the_answer()


def test_a_commit_that_landed_without_an_answer_counts(root: str) -> None:
    store = DeltaControlStore(root, partial(Troubled, after=[lose_the_answer]))
    view = store.commit(store.read("orders"), record("orders", 2), REGISTER, moment(1))
    store.commit(view, record("orders", 3), REGISTER, moment(2))
    assert store.records() == [record("orders", 3)]


def test_a_commit_without_an_answer_that_did_not_land_may_be_tried_again(root: str) -> None:
    store = DeltaControlStore(root, partial(Troubled, before=[lose_the_answer]))
    with pytest.raises(Retry, match=r"connection reset by peer$"):
        _commit(store, 2)
    assert store.records() == [record("orders", 1)]
    _commit(store, 2)
    assert store.records() == [record("orders", 2)]


def test_a_commit_without_an_answer_that_another_one_beat_is_stale(root: str) -> None:
    store = DeltaControlStore(root, partial(Troubled, before=[partial(_beat_to_it, root)]))
    with pytest.raises(StaleSnapshot):
        _commit(store, 2)
    assert store.records() == [record("orders", 9)]


def test_a_commit_that_landed_counts_though_others_followed_it(root: str) -> None:
    store = DeltaControlStore(root, partial(Troubled, after=[partial(_beat_to_it, root)]))
    view = store.commit(store.read("orders"), record("orders", 2), REGISTER, moment(1))
    with pytest.raises(StaleSnapshot):
        store.commit(view, record("orders", 3), REGISTER, moment(3))
    assert store.records() == [record("orders", 9)]


def test_a_failing_compaction_does_not_fail_the_commit_before_it(tmp_path: Path) -> None:
    class OnFullDisk(Full):
        tried: ClassVar[list[str]] = []

    store = DeltaControlStore(str(tmp_path / "control"), compaction=OnFullDisk)
    view = store.read("orders")
    for generation in range(COMPACT_EVERY):
        view = store.commit(view, record("orders", generation), REGISTER, moment(generation))
    assert OnFullDisk.tried == ["state"]
    assert store.records() == [record("orders", COMPACT_EVERY - 1)]


def test_a_client_asked_to_stop_while_files_are_merged_stops(tmp_path: Path) -> None:
    class Asked(Full):
        tried: ClassVar[list[str]] = []
        ends: ClassVar[BaseException] = Interrupted("interrupted", "stop", left="", next="")

    store = DeltaControlStore(str(tmp_path / "control"), compaction=Asked)

    def commit_until_files_are_merged() -> None:
        view = store.read("orders")
        for generation in range(COMPACT_EVERY):
            view = store.commit(view, record("orders", generation), REGISTER, moment(generation))

    with pytest.raises(Interrupted):
        commit_until_files_are_merged()
