"""Refreshes from growing folders of parquet files: only new files are read, other changes are noticed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_refresh_provider.compose import refreshes
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import RunResult
from airflow_refresh_provider.errors import Failed
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.spark.connect.endpoint import Endpoint

NAME = "landed"
QUERY = "SELECT k + 100 AS key, v * 2 AS v, day FROM x WHERE v >= 0"


class Landing:
    """A folder of files by day, and a target that is refreshed from it."""

    def __init__(self, spark: SparkSession, folder: Path, endpoint: Endpoint) -> None:
        self.spark = spark
        self.input, self.target = folder / "l'and`ing ü", folder / "target"
        self.land("SELECT id AS k, id - 1 AS v, id % 2 AS day FROM range(10)")
        self.refreshes = refreshes(Places(str(folder / "control"), endpoint.url, str(folder / "spark")))
        self.refreshes.register(
            Definition.build(
                name=NAME,
                target=str(self.target),
                query=QUERY,
                inputs={"x": {"path": str(self.input), "format": "parquet", "options": {"mergeSchema": True}}},
                keys=["key"],
                mode="incremental",
                max_delete_ratio=1.0,
            )
        )
        self.run()

    def land(self, query: str) -> None:
        self.spark.sql(query).coalesce(1).write.mode("append").partitionBy("day").parquet(str(self.input))

    def run(self) -> RunResult:
        """A refresh, after which the target is what the query gives."""
        result = self.refreshes.run(NAME, Request())
        self.spark.read.option("mergeSchema", "true").parquet(str(self.input)).createOrReplaceTempView("x")
        wanted = sorted(tuple(r) for r in self.spark.sql(QUERY).collect())
        assert sorted(tuple(r) for r in self.spark.read.format("delta").load(str(self.target)).collect()) == wanted
        return result


@pytest.fixture
def landing(open_session: Callable[[], SparkSession], tmp_path: Path, spark_server: Endpoint) -> Landing:
    return Landing(open_session(), tmp_path, spark_server)


def mode_of(result: RunResult) -> tuple[str | None, str]:
    return result.mode, result.mode_reason or ""


def test_only_new_files_are_read(landing: Landing) -> None:
    landing.land("SELECT id AS k, id - 12 AS v, 2 + id % 2 AS day FROM range(10, 20)")
    (old,) = (landing.input / "day=0").glob("*.parquet")
    content, about = old.read_bytes(), old.stat()
    (old.parent / f".{old.name}.crc").unlink()
    # The data pages of the old file are damaged; its footer, size and time are unchanged.
    old.write_bytes(content[:4] + bytes(20) + content[24:])
    os.utime(old, ns=(about.st_atime_ns, about.st_mtime_ns))
    result = landing.refreshes.run(NAME, Request())
    assert mode_of(result) == ("incremental", "changes of x in new files")
    old.write_bytes(content)
    os.utime(old, ns=(about.st_atime_ns, about.st_mtime_ns))
    assert landing.run().outcome == "nothing_to_do"


@pytest.mark.slow
def test_a_column_that_only_new_files_have_has_everything_compared(landing: Landing) -> None:
    landing.land("SELECT id AS k, id AS v, 1 AS w, 1 AS day FROM range(20, 22)")
    mode, reason = mode_of(landing.run())
    assert (mode, "have changed the columns" in reason) == ("full", True)
    landing.land("SELECT id AS k, id AS v, 1 AS w, 1 AS day FROM range(22, 24)")
    assert mode_of(landing.run())[0] == "incremental"


@pytest.mark.slow
def test_a_file_that_is_gone_has_everything_compared(landing: Landing) -> None:
    next((landing.input / "day=1").glob("*.parquet")).unlink()
    mode, reason = mode_of(landing.run())
    assert (mode, "were changed or deleted" in reason) == ("full", True)


@pytest.mark.slow
def test_a_key_of_an_old_file_is_found_in_a_new_one(landing: Landing) -> None:
    landing.land("SELECT 3L AS k, 9L AS v, 1 AS day UNION ALL SELECT 30L, 1L, 1")
    with pytest.raises(Failed, match="more than one row for 1 key"):
        landing.run()
