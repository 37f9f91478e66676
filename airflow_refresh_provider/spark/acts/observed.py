"""What was observed while a statement ran."""

from __future__ import annotations

from pyspark.sql import Observation

from airflow_refresh_provider.core.faults.sentences import reason
from airflow_refresh_provider.spark.connect.faults import SPARK_ERRORS, fault_of

_NOTHING_OBSERVED = "assertion failed"
"""Spark's message when a classic session has no values for an observation."""


def observed(observation: Observation) -> dict[str, int]:
    """The observed values; none when Spark has optimized the query away, which is an error in a classic session."""
    try:
        return observation.get
    except SPARK_ERRORS as error:
        if reason(fault_of(error)) != _NOTHING_OBSERVED:
            raise
        return {}
