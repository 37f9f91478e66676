"""The spans of touched values are the same, whether Spark or the client looks for gaps."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_refresh_provider.core.definition.columns import Column
from airflow_refresh_provider.core.maintain.spans import number_of
from airflow_refresh_provider.delta.tables.staging_folders import StagingFolders
from airflow_refresh_provider.ports.staging import StagedValues
from airflow_refresh_provider.spark.acts import touched_spans
from airflow_refresh_provider.spark.acts.touched_spans import Found
from tests.engine.acts import AllAreLarge

ENDS = (-(2**63), 2**63 - 1)
DAYS = tuple(date(2020, 1, day) for day in (1, 2, 30))
MOMENTS = tuple(datetime(2020, 1, 1, hour, 0, 0, 1, tzinfo=UTC) for hour in (1, 2, 20))


@pytest.mark.parametrize(
    ("type_name", "values"),
    [
        ("bigint", (1, 2, 3, 500, 501, 990, None)),
        ("bigint", (*ENDS, 0, 1, 2)),
        ("bigint", (7, 8, 9)),
        ("bigint", (None, -40, -39, 40)),
        ("date", DAYS),
        ("timestamp", MOMENTS),
    ],
    ids=["clusters", "the ends of BIGINT", "no gap", "NULL", "days", "moments"],
)
def test_gaps_are_the_same_for_few_values_and_for_many(
    type_name: str, values: tuple[Any, ...], open_session: Callable[[], SparkSession], tmp_path: Path
) -> None:
    spark, folder = open_session(), str(tmp_path / "staged")
    spark.createDataFrame([(value,) for value in values], f"k0 {type_name}").repartition(3).write.parquet(folder)
    staged, anchors = spark.read.parquet(folder), (Column(name="k", type=type_name),)
    seen = staged.agg(*touched_spans.measures(anchors)).collect()[0].asDict()
    clients: tuple[StagedValues, ...] = (StagingFolders(), AllAreLarge())
    few, many = (touched_spans.spans(Found(staged, folder, client, seen), anchors) for client in clients)
    assert few == many
    assert few[0].spans[0][0] <= seen["low0"] <= seen["high0"] <= few[0].spans[-1][1]
    known = [row.v for row in staged.selectExpr(f"{number_of('k0', type_name)} AS v").collect()]
    assert all(any(low <= v <= high for low, high in few[0].spans) for v in known if v is not None)
