"""The spans of touched values are the same, whether Spark or the client looks for gaps."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import SparkSession

from airflow_refresh_provider.core.definition.columns import Column
from airflow_refresh_provider.spark.acts import touched_spans

ENDS = (-(2**63), 2**63 - 1)


@pytest.mark.parametrize(
    "values",
    [(1, 2, 3, 500, 501, 990, None), (*ENDS, 0, 1, 2), (7, 8, 9), (None, -40, -39, 40)],
    ids=["clusters", "the ends of BIGINT", "no gap", "NULL"],
)
def test_gaps_are_the_same_for_few_values_and_for_many(
    values: tuple[int | None, ...], open_session: Callable[[], SparkSession]
) -> None:
    staged = open_session().createDataFrame([(value,) for value in values], "k0 BIGINT")
    known = [value for value in values if value is not None]
    seen = {"low0": min(known), "high0": max(known), "nulls0": len(values) - len(known)}
    anchors = (Column(name="k", type="bigint"),)
    few, many = (touched_spans.spans(staged, anchors, seen | {"values": n}) for n in (len(values), 1_000_000))
    assert few == many
    assert all(any(low <= value <= high for low, high in few[0].spans) for value in known)
