"""Queries over DataFrames by name."""

from __future__ import annotations

from typing import Any, cast

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.connect.dataframe import DataFrame as ConnectDataFrame
from pyspark.sql.connect.plan import SQL, SubqueryAlias


class NamedRows:
    """DataFrames that a query reads by name; one that is named later may name an earlier one in a condition.

    Connect is sent them with the statement that reads the result: errors are those of that statement. A view of each,
    and the query by itself, would be a call each, and analyzed once more. In a classic session each is a view at once,
    for conditions are analyzed when they are written.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._sent: list[SubqueryAlias] = []

    def name(self, name: str, rows: DataFrame) -> None:
        """Give rows a name."""
        if isinstance(rows, ConnectDataFrame):
            self._sent.append(SubqueryAlias(rows._plan, name))
        else:
            rows.createOrReplaceTempView(name)

    def query(self, text: str) -> DataFrame:
        """What a query over them gives."""
        if not self._sent:
            return self._spark.sql(text)
        return ConnectDataFrame(SQL(text, [], {}, self._sent), cast(Any, self._spark))
