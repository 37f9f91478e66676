"""Delta tables at a version, named so that a statement may read them through Delta Kernel.

Delta's own reader replays the log of a table by jobs of Spark, several for each version and some again for each plan;
Kernel replays it in the driver, and skips files by partitions and statistics as well (ADR 45). It takes the names of
partition columns for SQL, so that a table with one that has to be quoted is not read by its name.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from airflow_refresh_provider.spark.acts import sql

VERSION = "versionAsOf"
_FOR_READERS = {"spark.databricks.delta.v2.enableMode": "STRICT"}
"""A statement with it cannot write a table by its name: Kernel only reads."""
_FILE_OF_ROW = "input_file_"
"""Functions that know the file of a row. With Kernel they give nothing."""


def settings_for(query: str) -> dict[str, str]:
    """Settings for a statement that computes a query and writes no Delta table by its name."""
    return {} if _FILE_OF_ROW in query.lower() else _FOR_READERS


def at_version(spark: SparkSession, location: str, version: int | str) -> DataFrame:
    """A Delta table at one version, by its name."""
    return spark.read.option(VERSION, version).table(sql.table(location))
