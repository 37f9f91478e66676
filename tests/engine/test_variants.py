"""Variants in inputs and results, whose values neither compare nor group: refreshed in every mode and layout."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_refresh_provider.compose import refreshes
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import Outcome, Rows
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.spark.connect.endpoint import Endpoint

NAME = "variants"
MADE = """parse_json(concat('{"a":', id, '}'))"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "layout", "feed"),
    [
        ("incremental", "vnode", False),
        ("full", "plain", True),
        ("full", "vnode", True),
        ("incremental", "plain", True),
    ],
)
def test_variants_are_refreshed_and_nothing_is_left_to_do(
    open_session: Callable[[], SparkSession],
    tmp_path: Path,
    spark_server: Endpoint,
    mode: str,
    layout: str,
    feed: bool,
) -> None:
    spark, target = open_session(), tmp_path / "target"
    table = f"delta.`{tmp_path / 'input'}`"
    spark.sql(
        f"CREATE TABLE {table} USING delta TBLPROPERTIES ('delta.enableChangeDataFeed' = '{feed}') "
        f"AS SELECT id, {MADE} AS v FROM range(40)"
    ).collect()
    found = refreshes(Places(str(tmp_path / "control"), spark_server.url, str(tmp_path / "spark")))
    found.register(
        Definition.build(
            name=NAME,
            target=str(target),
            query="SELECT id AS k, v, named_struct('in', v) AS s FROM x",
            inputs={"x": {"path": str(tmp_path / "input")}},
            keys=["k"],
            mode=mode,
            layout=layout,
        )
    )

    def run() -> tuple[str, Rows]:
        result = found.run(NAME, Request())
        again = found.run(NAME, Request())
        assert again.outcome is Outcome.NOTHING_TO_DO
        rows = [
            sorted(tuple(r) for r in spark.sql(f"SELECT {columns} FROM delta.`{place}`").collect())
            for columns, place in (
                ("id, to_json(v), to_json(v)", tmp_path / "input"),
                ("k, to_json(v), to_json(s.in)", target),
            )
        ]
        assert rows[0] == rows[1]
        return result.mode or "", result.rows

    assert run() == ("full", Rows(inserted=40))
    spark.sql(f"UPDATE {table} SET v = parse_json('[1, null]') WHERE id = 3").collect()
    assert run() == (mode, Rows(updated=1, unchanged=39))
    spark.sql(f"DELETE FROM {table} WHERE id = 4").collect()
    spark.sql(f"INSERT INTO {table} SELECT id + 40, {MADE} FROM range(1)").collect()
    assert run() == (mode, Rows(inserted=1, deleted=1, unchanged=39))
