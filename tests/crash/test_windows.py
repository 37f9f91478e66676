"""Incremental refreshes of an input that anything happens to, cut off at random: always the query, never a gap."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from deltalake import DeltaTable, write_deltalake

from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.run.results import Outcome
from tests.crash.checks import equal_to_the_query, no_staging_is_left, notes
from tests.crash.jvm import Server
from tests.crash.lake import NAME, PLAIN, VNODE, Kind, Lake
from tests.crash.stage import Client, Stage

ROWS = 400
LONGEST = 8.0


class Changing(Lake):
    """An input with a change data feed, to which one of many things happens at a time, by Spark or by delta-rs."""

    def __init__(self, folder: Path, kind: Kind, seed: int) -> None:
        super().__init__(folder, kind)
        self.random = random.Random(seed)
        self.acts: list[str] = []
        self._columns = 0
        write_deltalake(self.input, self._rows(ROWS), configuration={"delta.enableChangeDataFeed": "true"})

    def definition(self, **changes: Any) -> Definition:
        return super().definition(mode="incremental", max_delete_ratio=1.0, **changes)

    def happen(self, sql: Callable[[str], Any]) -> None:
        """One thing."""
        by_spark = (
            self._append,
            self._update,
            self._delete,
            self._merge,
            self._overwrite,
            self._optimize,
            self._restore,
        )
        outside = (self._append_outside, self._update_outside, self._delete_outside, self._compact_outside)
        act = self.random.choice((*by_spark, *outside, self._widen))
        self.acts.append(f"{self.version()}: {act.__name__}")
        act(sql)

    def _append(self, sql: Callable[[str], Any]) -> None:
        new = self._new_id()
        sql(
            f"INSERT INTO {self._table} (id, grp, name, amount) "
            f"SELECT id, CAST(id % 7 AS INT), concat('n', id), id FROM range({new}, {new + 20})"
        )

    def _update(self, sql: Callable[[str], Any]) -> None:
        sql(f"UPDATE {self._table} SET grp = (grp + 1) % 7, amount = amount + 1 WHERE {self._some}")

    def _delete(self, sql: Callable[[str], Any]) -> None:
        sql(f"DELETE FROM {self._table} WHERE {self._some}")

    def _merge(self, sql: Callable[[str], Any]) -> None:
        low = self.random.randrange(ROWS)
        sql(
            f"MERGE INTO {self._table} t USING (SELECT id FROM range({low}, {low + 60})) s ON t.id = s.id "
            "WHEN MATCHED AND s.id % 3 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET name = 'merged' "
            "WHEN NOT MATCHED THEN INSERT (id, grp, name, amount) VALUES (s.id, CAST(s.id % 7 AS INT), NULL, -s.id)"
        )

    def _overwrite(self, sql: Callable[[str], Any]) -> None:
        sql(f"INSERT OVERWRITE {self._table} SELECT * FROM {self._table} WHERE {self._some} OR id % 2 = 0")

    def _optimize(self, sql: Callable[[str], Any]) -> None:
        sql(f"OPTIMIZE {self._table}")

    def _restore(self, sql: Callable[[str], Any]) -> None:
        sql(f"RESTORE TABLE {self._table} TO VERSION AS OF {max(0, self.version() - self.random.randint(1, 4))}")

    def _widen(self, sql: Callable[[str], Any]) -> None:
        self._columns += 1
        sql(f"ALTER TABLE {self._table} ADD COLUMNS (extra_{self.version()} STRING)")

    def _append_outside(self, _sql: Callable[[str], Any]) -> None:
        write_deltalake(self.input, self._rows(10, self._new_id()), mode="append", schema_mode="merge")

    def _update_outside(self, _sql: Callable[[str], Any]) -> None:
        DeltaTable(self.input).update(predicate=self._some, updates={"amount": "amount + 1000"})

    def _delete_outside(self, _sql: Callable[[str], Any]) -> None:
        DeltaTable(self.input).delete(self._some)

    def _compact_outside(self, _sql: Callable[[str], Any]) -> None:
        DeltaTable(self.input).optimize.compact()

    @property
    def _table(self) -> str:
        return f"delta.`{self.input}`"

    @property
    def _some(self) -> str:
        """Some of the rows, as a condition."""
        divisor = self.random.randint(3, 40)
        return f"id % {divisor} = {self.random.randrange(divisor)}"

    def _new_id(self) -> int:
        """An id never used before."""
        self.step += 1
        return 10_000 * self.step

    def _rows(self, count: int, first: int = 0) -> pa.Table:
        ids = range(first, first + count)
        return pa.table(
            {
                "id": pa.array(ids, pa.int64()),
                "grp": pa.array([i % 7 for i in ids], pa.int32()),
                "name": pa.array([f"item {i}" for i in ids]),
                "amount": pa.array(ids, pa.int64()),
            }
        )


class Life:
    """Things happen, a refresh begins, now and then it is killed; in the end one is done."""

    def __init__(self, stage: Stage, lake: Changing) -> None:
        self._stage = stage
        self._lake = lake
        self.modes: list[str] = []

    def go_on(self, steps: int, kills: int) -> None:
        killed = set(self._lake.random.sample(range(steps), kills))
        for step in range(steps):
            for _ in range(self._lake.random.randint(1, 4)):
                self._lake.happen(self._stage.sql)
            if step in killed:
                self._kill_one()
            self._refresh()

    def _refresh(self) -> None:
        """One that ends, then one that has nothing to do."""
        while True:
            result = self._client().ended().result
            assert "error" not in result, (result, self._lake.acts)
            self.modes.append(f"{result['mode']}: {result['mode_reason']}")
            if result["input_versions"]["items"] == self._lake.version():
                break
        equal_to_the_query(self._stage)
        no_staging_is_left(self._stage)
        assert self._client().ended().result["outcome"] == Outcome.NOTHING_TO_DO

    def _kill_one(self) -> None:
        client = self._client()
        end = time.monotonic() + self._lake.random.uniform(0, LONGEST)
        while client.running and time.monotonic() < end:
            time.sleep(0.01)
        client.kill()

    def _client(self) -> Client:
        self._stage.started += 1
        places = ["--control", self._stage.control, "--spark", self._stage.server.endpoint().url, "--output", "json"]
        command = [sys.executable, "-m", "airflow_refresh_provider.cli.main", "run", NAME, *places]
        client = Client(self._stage.folder / "clients" / str(self._stage.started), command)
        self._stage.clients["living"] = client
        return client


def windows(target: str) -> list[tuple[int | None, int]]:
    """(begin, end) of what each sealed refresh has read of the input, in order; without a begin it read everything."""
    seals = [note for _, note in notes(target) if note["kind"] == "seal" or "seals" in note]
    return [(note["windows"].get("items", {}).get("after"), note["inputs"]["items"]) for note in seals]


def live(folder: Path, server: Server, holds: Path, kind: Kind, seed: int, steps: int, kills: int) -> None:
    lake = Changing(folder, kind, seed)
    stage = Stage(folder, lake, server, holds)
    stage.refreshes().register(lake.definition())
    life = Life(stage, lake)
    try:
        life.go_on(steps, kills)
    finally:
        stage.clear()
    found = windows(lake.target)
    assert all(begin in (None, end) for (_, end), (begin, _) in pairwise(found)), found
    assert sum(begin is not None for begin, _ in found) >= steps // 3, life.modes


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "seed"), [(VNODE, 5)], ids=str)
def test_a_few_windows(tmp_path: Path, server: Server, holds: Path, kind: Kind, seed: int) -> None:
    live(tmp_path, server, holds, kind, seed, steps=3, kills=1)


@pytest.mark.slow
@pytest.mark.timeout(2400)
@pytest.mark.parametrize(("kind", "seed"), [(PLAIN, 6), (VNODE, 7)], ids=str)
def test_many_windows(tmp_path: Path, server: Server, holds: Path, kind: Kind, seed: int) -> None:
    live(tmp_path, server, holds, kind, seed, steps=18, kills=7)
