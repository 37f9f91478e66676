"""An input that is replaced between two steps of a run, which Spark does not notice."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_refresh_provider.compose import refreshes
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import Outcome
from airflow_refresh_provider.errors import Failed
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.runner.steps import one_task
from airflow_refresh_provider.spark.connect.endpoint import Endpoint

NAME = "replaced"
MINE = Request(origin="dag/one")


def _make(spark: SparkSession, place: Path, format: str, query: str) -> None:
    """A table at version 0, or a folder of one file that always has the same name."""
    shutil.rmtree(place, ignore_errors=True)
    rows = spark.sql(query).coalesce(1)
    if format == "delta":
        rows.write.format("delta").save(str(place))
        return
    rows.write.parquet(str(place))
    (file,) = place.glob("*.parquet")
    file.rename(place / "rows.parquet")


@pytest.mark.parametrize("format", ["delta", pytest.param("parquet", marks=pytest.mark.slow)])
def test_rows_with_unchecked_keys_are_not_loaded(
    open_session: Callable[[], SparkSession], tmp_path: Path, spark_server: Endpoint, format: str
) -> None:
    spark, place, target = open_session(), tmp_path / "input", str(tmp_path / "target")
    _make(spark, place, format, "SELECT id AS k FROM range(4)")
    found = refreshes(Places(str(tmp_path / "control"), spark_server.url, str(tmp_path / "spark")))
    found.register(
        Definition.build(
            name=NAME,
            target=target,
            query="SELECT k FROM x",
            inputs={"x": {"path": str(place), "format": format}},
            keys=["k"],
        )
    )
    one_task.start(found.ports, NAME, MINE)
    [unit] = one_task.fill(found.ports, NAME, MINE)
    _make(spark, place, format, "SELECT id % 2 AS k FROM range(4)")

    with pytest.raises(Failed, match="has changed since the run pinned it"):
        one_task.merge_unit(found.ports, NAME, MINE, unit.unit)
    assert spark.read.format("delta").load(target).count() == 0
    assert one_task.interrupt(found.ports, NAME, MINE)
    _make(spark, place, format, "SELECT id AS k FROM range(7)")
    assert found.run(NAME, Request()).outcome is Outcome.SUCCEEDED
    assert spark.read.format("delta").load(target).count() == 7
