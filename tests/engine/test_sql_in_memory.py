"""What the in-memory engine gives for SQL is what Spark gives: the same catalogue of queries, asked of Spark."""

from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from airflow_refresh_provider.testing.spark_sql.evaluation import Relation
from tests.engine.acts import Lake
from tests.unit.testing.catalogue import ANSWERED, INPUTS, Rows

pytestmark = pytest.mark.slow


def view(spark: SparkSession, name: str, relation: Relation) -> None:
    schema = ", ".join(f"{c.name} {c.type}" for c in relation.columns)
    spark.createDataFrame(list(relation.rows), schema).createOrReplaceTempView(name)


def answer(found: DataFrame) -> tuple[str, Rows]:
    columns = ", ".join(f"{f.name} {f.dataType.simpleString()}" for f in found.schema)
    zoned = [f.dataType.simpleString() == "timestamp" for f in found.schema]
    return columns, [tuple(map(moment, row, zoned)) for row in found.collect()]


def moment(value: Any, zoned: bool) -> Any:
    """Spark's client gives timestamps in the zone of the machine, and leaves the zone out."""
    return value.astimezone(UTC) if zoned and isinstance(value, datetime) else value


def test_spark_gives_what_the_catalogue_says(lake: Lake) -> None:
    for name, relation in INPUTS:
        view(lake.spark, name, relation)
    wrong = []
    for name, query, columns, rows in ANSWERED:
        found = answer(lake.spark.sql(query))
        if (found[0], sorted(found[1], key=repr)) != (columns, sorted(rows, key=repr)):
            wrong.append((name, found, (columns, rows)))
    assert wrong == []
