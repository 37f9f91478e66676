"""Adopted targets with text of a fixed length, which Spark pads when it reads them, or of a bounded one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_refresh_provider.compose import refreshes
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import Rows
from airflow_refresh_provider.errors import Refused
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.spark.connect.endpoint import Endpoint

NAME = "padded"
FORCED = Request(force=True)


@pytest.mark.slow
def test_text_that_is_padded_is_refused_until_its_columns_are_altered_as_the_error_says(
    open_session: Callable[[], SparkSession], tmp_path: Path, spark_server: Endpoint
) -> None:
    spark, made, target = open_session(), f"delta.`{tmp_path / 'input'}`", f"delta.`{tmp_path / 'target'}`"
    spark.sql(
        f"CREATE TABLE {made} USING delta AS SELECT concat('k', id) AS k, concat('v', id) AS v FROM range(9)"
    ).collect()
    spark.sql(f"CREATE TABLE {target} (k CHAR(8), v CHAR(8), w VARCHAR(8)) USING delta").collect()
    spark.sql(f"INSERT INTO {target} SELECT k, v, v FROM {made} WHERE k <> 'k3'").collect()
    found = refreshes(Places(str(tmp_path / "control"), spark_server.url, str(tmp_path / "spark")))
    found.register(
        Definition.build(
            name=NAME,
            target=str(tmp_path / "target"),
            query="SELECT k, v, v AS w FROM x",
            inputs={"x": {"path": str(tmp_path / "input")}},
            keys=["k"],
            adopt=True,
            max_delete_ratio=1.0,
        )
    )

    for column in "kv":
        with pytest.raises(Refused, match=f"CHAR columns \\({column}") as caught:
            found.run(NAME, FORCED)
        advice = caught.value.next.partition("`")[2].rpartition("`")[0]
        assert column in advice
        spark.sql(advice).collect()
    assert found.run(NAME, FORCED).rows == Rows(inserted=1, unchanged=8)
    assert found.run(NAME, FORCED).rows == Rows(unchanged=9)
    spark.sql(f"UPDATE {made} SET v = 'x' WHERE k = 'k5'").collect()
    assert found.run(NAME, FORCED).rows == Rows(updated=1, unchanged=8)
