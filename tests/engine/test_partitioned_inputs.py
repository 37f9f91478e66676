"""A sum by month over a table that is partitioned by day and keeps no change data feed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_refresh_provider.compose import refreshes
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.ports.tasks import Touched, TouchTask
from airflow_refresh_provider.spark.connect.endpoint import Endpoint
from airflow_refresh_provider.spark.engine import SparkEngineSession

MONTH = "CAST(date_trunc('MONTH', day) AS DATE)"
CHANGES = (
    ("INSERT INTO {t} VALUES (DATE'2024-02-03', 5, 'new')", 1),
    ("INSERT INTO {t} VALUES (DATE'2024-03-04', 6, 'new'), (NULL, 7, 'no day')", 2),
    ("INSERT INTO {t} REPLACE WHERE day = DATE'2024-01-02' VALUES (DATE'2024-01-02', 9, 'again')", 1),
    ("DELETE FROM {t} WHERE day = DATE'2024-02-03'", 1),
    ("DELETE FROM {t} WHERE day IS NULL", 1),
    ("UPDATE {t} SET day = DATE'2024-03-09' WHERE day = DATE'2024-01-20'", 2),
)


@pytest.mark.parametrize("changes", [CHANGES[:3], pytest.param(CHANGES, marks=pytest.mark.slow)], ids=["some", "all"])
def test_only_the_touched_months_are_computed(
    open_session: Callable[[], SparkSession],
    tmp_path: Path,
    spark_server: Endpoint,
    monkeypatch: pytest.MonkeyPatch,
    changes: tuple[tuple[str, int], ...],
) -> None:
    spark, table = open_session(), f"delta.`{tmp_path / 'sales'}`"
    day = "date_add(DATE'2024-01-01', CAST(id AS INT)) AS day"
    days = f"SELECT {day}, CAST(id AS INT) AS v, 'old' AS note FROM range(40)"
    spark.sql(f"CREATE TABLE {table} USING delta PARTITIONED BY (day) AS {days}").collect()
    found = refreshes(Places(str(tmp_path / "control"), spark_server.url, str(tmp_path / "spark")))
    definition = Definition.build(
        name="by_month",
        target=str(tmp_path / "by_month"),
        query=f"SELECT coalesce({MONTH}, DATE'1900-01-01') AS month, sum(v) AS s, count(DISTINCT v) AS n FROM sales "
        f"GROUP BY coalesce({MONTH}, DATE'1900-01-01')",
        inputs={"sales": {"path": str(tmp_path / "sales")}},
        keys=["month"],
        mode="incremental",
        max_delete_ratio=1.0,
    )
    found.register(definition)
    tasks: list[TouchTask] = []
    touch = SparkEngineSession.touch

    def seen(session: SparkEngineSession, task: TouchTask) -> Touched:
        tasks.append(task)
        return touch(session, task)

    monkeypatch.setattr(SparkEngineSession, "touch", seen)
    found.run("by_month", Request())
    codes = []
    for statement, months in changes:
        spark.sql(statement.format(t=table)).collect()
        result = found.run("by_month", Request())
        codes.append(result.mode_code)
        assert (result.touched, result.notices) == (months, ())
        assert tasks[-1].by_partition == {"sales": ("day",)}
    assert codes == ["verification", *["changes"] * (len(changes) - 1)]
    assert found.compare_only("by_month").equal
    spark.sql(f"OPTIMIZE {table}").collect()
    assert found.run("by_month", Request()).rows.updated == 0
