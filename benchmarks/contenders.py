"""What is measured side by side: our refresh, an overwrite with the same query, a stock MERGE."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

from airflow_refresh_provider.core.definition.mode import Mode
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import RunResult
from airflow_refresh_provider.runner.refreshes import Refreshes
from benchmarks.lake import KEYS, Lake


def seconds(act: Callable[[], object]) -> float:
    """How long an act takes, beginning with nothing left to write by the act before."""
    os.sync()
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def overwrite(spark: SparkSession, lake: Lake) -> None:
    """The whole query into an unpartitioned Delta table."""
    source = spark.read.format("delta").load(lake.lineitem)
    source.write.format("delta").mode("overwrite").save(lake.table("overwritten"))


def stock_merge(spark: SparkSession, lake: Lake) -> None:
    """One MERGE that updates, inserts and deletes, as the manual shows it."""
    on = " AND ".join(f"t.{key} = s.{key}" for key in KEYS)
    spark.sql(
        f"MERGE INTO delta.`{lake.table('merged')}` t USING delta.`{lake.lineitem}` s ON {on} "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT * "
        "WHEN NOT MATCHED BY SOURCE THEN DELETE"
    ).collect()


def refresh(refreshes: Refreshes, name: str) -> RunResult:
    """One refresh of ours, which takes its own time."""
    os.sync()
    return refreshes.run(name, Request())


def must_follow(mode: str | None, reason: str | None) -> None:
    """Ends the bench where an incremental refresh has compared everything: its figure would say something else."""
    if mode != Mode.INCREMENTAL:
        raise SystemExit(f"the refresh compared everything: {reason}")


def must_be_equal(spark: SparkSession, left: Path, right: Path) -> None:
    """Ends the bench where a table differs from the one that the query was written to."""
    if not equal(spark, str(left), str(right)):
        raise SystemExit(f"the table {left.name} differs from {right.name}")


def equal(spark: SparkSession, left: str, right: str) -> bool:
    """Whether two tables hold the same rows, each as often."""
    a, b = (spark.read.format("delta").load(location) for location in (left, right))
    return a.count() == b.count() and a.exceptAll(b).isEmpty()
