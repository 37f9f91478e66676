"""What a run says that it costs, beside the files that are there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_refresh_provider.compose import refreshes
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import RunResult
from airflow_refresh_provider.delta.tables.target_log import DeltaTableLog
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.spark.connect.endpoint import Endpoint

NAME = "measured"
ROWS = 20_000


class Measured:
    """A table and its copy."""

    def __init__(self, spark: SparkSession, folder: Path, endpoint: Endpoint) -> None:
        self.spark = spark
        self.input, self.target = folder / "input", folder / "target"
        self.refreshes = refreshes(Places(str(folder / "control"), endpoint.url, str(folder / "spark")))
        self.do(
            "CREATE TABLE {input} USING delta AS "
            f"SELECT id AS k, sha2(CAST(id AS STRING), 256) AS v FROM range({ROWS})"
        )
        given: dict[str, Any] = {"name": NAME, "target": str(self.target), "query": "SELECT * FROM x", "keys": ["k"]}
        inputs = {"x": {"path": str(self.input)}}
        self.refreshes.register(Definition.build(**given, inputs=inputs, mode="incremental"))

    def do(self, statement: str) -> None:
        self.spark.sql(statement.format(input=f"delta.`{self.input}`")).collect()

    def run(self) -> RunResult:
        return self.refreshes.run(NAME, Request(workers=1))

    @property
    def bytes_of_target(self) -> int:
        facts = DeltaTableLog().facts(str(self.target))
        assert facts is not None and facts.bytes is not None
        return facts.bytes


@pytest.fixture
def measured(open_session: Callable[[], SparkSession], spark_server: Endpoint, tmp_path: Path) -> Measured:
    return Measured(open_session(), tmp_path, spark_server)


def size_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*.parquet") if "_delta_log" not in file.parts)


def test_a_full_refresh_has_all_of_its_input_to_read_and_an_incremental_one_only_what_came(measured: Measured) -> None:
    before = size_of(measured.input)
    full = measured.run()
    assert (full.mode, full.bytes_to_read) == ("full", before)
    written = measured.bytes_of_target
    assert full.spent is not None and full.spent.bytes_written == written > before / 2
    assert 0 < full.spent.spark_seconds <= full.spent.worked_seconds <= full.elapsed_seconds

    measured.do("INSERT INTO {input} SELECT id AS k, 'new' AS v FROM range(20000, 20010)")
    incremental = measured.run()
    assert (incremental.mode, incremental.bytes_to_read) == ("incremental", size_of(measured.input) - before)
    assert 0 < (incremental.bytes_to_read or 0) < before / 100
    assert incremental.spent is not None and incremental.spent.bytes_written == measured.bytes_of_target - written > 0
    assert [entry.spent for entry in measured.refreshes.history(NAME)] == [incremental.spent, full.spent]
