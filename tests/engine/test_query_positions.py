"""Errors of Spark name the place in the query that the user wrote, not in the one that Spark was given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_refresh_provider.compose import refreshes
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.errors import RefreshError
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.spark.connect.endpoint import Endpoint


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, current_timestamp() AS at, nosuch FROM i",
        "SELECT id, '😀' AS s, now(\n) AS at,\n current_date AS d, nosuch FROM i",
    ],
)
def test_an_error_behind_a_clock_function_has_its_position_in_the_query_of_the_user(
    open_session: Callable[[], SparkSession],
    tmp_path: Path,
    spark_server: Endpoint,
    query: str,
) -> None:
    open_session().sql(f"CREATE TABLE delta.`{tmp_path}/i` USING delta AS SELECT id FROM range(3)").collect()
    found = refreshes(Places(str(tmp_path / "control"), spark_server.url, str(tmp_path / "spark")))
    inputs = {"i": {"path": f"{tmp_path}/i"}}
    found.register(Definition.build(name="n", target=f"{tmp_path}/t", query=query, inputs=inputs, keys=["id"]))
    before = query[: query.index("nosuch")].split("\n")

    with pytest.raises(RefreshError) as refused:
        found.run("n", Request())

    assert refused.value.code == "query_invalid"
    assert f"(line {len(before)}, column {len(before[-1]) + 1})" in refused.value.message
