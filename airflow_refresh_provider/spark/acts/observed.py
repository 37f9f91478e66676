"""What is observed while a statement runs."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql.connect.dataframe import DataFrame as ConnectDataFrame

from airflow_refresh_provider.core.faults.sentences import reason
from airflow_refresh_provider.spark.connect.faults import SPARK_ERRORS, fault_of

_NOTHING_OBSERVED = "assertion failed"
"""Spark's message when a classic session has no values for an observation."""


def observe(rows: DataFrame, observation: Observation, *measures: Column) -> DataFrame:
    """The same rows, observed while they are computed. They are not those of a stream."""
    if isinstance(rows, ConnectDataFrame):
        # Known here; Connect would have the server analyze the whole plan to find it.
        vars(rows)["isStreaming"] = False
    return rows.observe(observation, *measures)


def observed(observation: Observation) -> dict[str, int]:
    """The observed values; none when Spark has optimized the query away, which is an error in a classic session."""
    try:
        return observation.get
    except SPARK_ERRORS as error:
        if reason(fault_of(error)) != _NOTHING_OBSERVED:
            raise
        return {}
