"""The state of a table's log, computed before a commit asks for it.

A commit with a transaction identifier asks for all identifiers that a table has, and Delta finds them by three jobs, a
third of a second for a table of any size. What changes are read with, and the target compared, is Delta Kernel, which
computes no such state: it is computed meanwhile. Delta keeps it for all sessions of a server.
"""

from __future__ import annotations

from contextlib import suppress
from threading import Thread

from pyspark.sql import SparkSession

from airflow_refresh_provider.spark.acts import sql
from airflow_refresh_provider.spark.connect import sessions
from airflow_refresh_provider.spark.connect.faults import SPARK_ERRORS

_NOT_COMPUTED = (*SPARK_ERRORS, ValueError)
"""A ValueError is what gRPC raises where the session is closed meanwhile."""


def compute(spark: SparkSession, location: str) -> Thread:
    """Start to compute it. An error is left to the commit, which meets it too."""
    thread = Thread(target=_compute, args=(spark, location), name="log-state", daemon=True)
    sessions.beside(spark, thread)
    return thread


def _compute(spark: SparkSession, location: str) -> None:
    with suppress(*_NOT_COMPUTED):
        spark.sql(f"DESCRIBE DETAIL {sql.table(location)}").collect()
