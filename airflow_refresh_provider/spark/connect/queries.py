"""Queries over DataFrames by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.connect.dataframe import DataFrame as ConnectDataFrame
from pyspark.sql.connect.plan import SQL, SubqueryAlias


def over(spark: SparkSession, query: str, tables: Mapping[str, DataFrame]) -> DataFrame:
    """A query over DataFrames by their names; a later one may name an earlier one in a condition.

    Connect is sent them with the statement that reads the result: errors are those of that statement. A view of each,
    and the query by itself, would be a call each, and analyzed once more.
    """
    named = [SubqueryAlias(rows._plan, name) for name, rows in tables.items() if isinstance(rows, ConnectDataFrame)]
    if named:
        return ConnectDataFrame(SQL(query, [], {}, named), cast(Any, spark))
    for name, rows in tables.items():
        rows.createOrReplaceTempView(name)
    return spark.sql(query)
