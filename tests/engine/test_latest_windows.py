"""`on_duplicate: latest` in incremental mode on real Spark: from a feed, from changed files, from new parquet files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_refresh_provider.compose import refreshes
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import Rows, RunResult
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.spark.connect.endpoint import Endpoint

NAME = "newest"
ROW = "named_struct('k', {k}, 'at', {at}, 'v', '{v}', 'd', CAST({d} AS DOUBLE), 'm', map('x', {k}))"
TIED = [(5, "10", "one", "1"), (5, "10", "two", "2")]


class Events:
    """An input that gains rows (k, at, v, d, m), and the target with the newest of each k."""

    def __init__(self, spark: SparkSession, folder: Path, endpoint: Endpoint, kind: str) -> None:
        self.spark, self.kind = spark, kind
        self.input, self.target = folder / "input", folder / "target"
        self.refreshes = refreshes(Places(str(folder / "control"), endpoint.url, str(folder / "spark")))

    def add(self, *rows: tuple[int, str, str, str]) -> None:
        values = ", ".join(ROW.format(k=k, at=at, v=v, d=d) for k, at, v, d in rows)
        added = self.spark.sql(f"SELECT inline(array({values}))")
        writer = added.coalesce(1).write.mode("append")
        if self.kind == "feed":
            writer = writer.option("delta.enableChangeDataFeed", "true")
        writer.format("parquet" if self.kind == "parquet" else "delta").save(str(self.input))

    def register(self, **more: Any) -> None:
        given: dict[str, Any] = {
            "name": NAME,
            "target": str(self.target),
            "query": "SELECT v, k, at, d, m FROM x WHERE v <> 'hidden'",
            "inputs": {"x": {"path": str(self.input), "format": "parquet" if self.kind == "parquet" else "delta"}},
            "keys": ["k"],
            "mode": "incremental",
            "on_duplicate": "latest",
            "latest_by": "at",
        }
        self.refreshes.register(Definition.build(**given, **more))

    def run(self) -> RunResult:
        """A refresh, after which a comparison of everything finds no difference."""
        result = self.refreshes.run(NAME, Request())
        assert self.refreshes.compare_only(NAME).equal
        return result


@pytest.mark.parametrize("kind", ["feed", pytest.param("files", marks=pytest.mark.slow), "parquet"])
@pytest.mark.parametrize("layout", ["plain", pytest.param("vnode", marks=pytest.mark.slow)])
def test_added_rows_replace_older_ones(
    open_session: Callable[[], SparkSession], tmp_path: Path, spark_server: Endpoint, kind: str, layout: str
) -> None:
    events = Events(open_session(), tmp_path, spark_server, kind)
    events.add((1, "5", "new", "1"), (2, "1", "x", "0.0"), (4, "NULL", "never", "1"), (5, "10", "one", "1"))
    events.register(layout=layout)
    events.run()

    events.add((1, "2", "late", "1"), (2, "2", "newer", "1"), (3, "1", "n", "1"), (3, "2", "m", "1"))
    first = events.run()
    events.add(*TIED, (4, "0", "some", "1"), (4, "NULL", "never", "1"), (6, "1", "hidden", "1"), (1, "5", "new", "1"))
    second = events.run()

    assert [first.mode, second.mode] == ["incremental"] * 2
    assert first.rows == Rows(inserted=1, updated=1, unchanged=3)
    assert second.rows.inserted == second.rows.deleted == 0
    found = events.spark.read.format("delta").load(str(events.target)).select("k", "v").collect()
    assert {row.k: row.v for row in found} | {5: "tied"} == {1: "new", 2: "newer", 3: "m", 4: "some", 5: "tied"}


@pytest.mark.parametrize("kind", ["feed", pytest.param("files", marks=pytest.mark.slow)])
def test_where_rows_were_removed_the_rows_of_their_keys_are_compared(
    open_session: Callable[[], SparkSession], tmp_path: Path, spark_server: Endpoint, kind: str
) -> None:
    events = Events(open_session(), tmp_path, spark_server, kind)
    events.add((1, "1", "old", "1"), (1, "2", "new", "1"), (2, "1", "x", "1"), (3, "3", "only", "1"))
    events.register()
    events.run()
    events.spark.sql(f"DELETE FROM delta.`{events.input}` WHERE v = 'new'").collect()
    first = events.run()
    events.add((1, "0", "older", "1"), (1, "NULL", "oldest", "1"), *TIED)
    events.spark.sql(f"DELETE FROM delta.`{events.input}` WHERE v = 'only'").collect()
    events.spark.sql(f"UPDATE delta.`{events.input}` SET at = NULL WHERE v = 'old'").collect()
    second = events.run()

    assert (first.mode_code, first.rows) == ("verification", Rows(updated=1, unchanged=2))
    assert (second.mode, second.rows) == ("incremental", Rows(inserted=1, updated=1, deleted=1, unchanged=1))
    assert second.touched == 3
