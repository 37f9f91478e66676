"""Counts and sums of groups follow the changed rows of an input alone, on real Spark and Delta."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_refresh_provider.core.run.results import Rows
from airflow_refresh_provider.spark.acts import added_up
from airflow_refresh_provider.spark.connect.endpoint import Endpoint
from tests.engine.test_keyed_refreshes import VIEWS, Shop

TOTALS = (
    "SELECT c.name, o.customer % 3 AS part, count(*) AS orders, count(o.total) AS found, sum(o.total) AS old, "
    "sum(CAST(coalesce(o.total, 0) AS DECIMAL(12, 2)) * 1.10) AS taxed, avg(o.total) AS mean, "
    "avg(CAST(coalesce(o.total, 0) AS DECIMAL(12, 2)) * 1.10) AS mean_taxed, max(o.day) AS last, min(o.id) AS first "
    "FROM orders o JOIN customers c ON o.customer = c.k GROUP BY c.name, o.customer % 3"
)


@pytest.fixture
def shop(open_session: Callable[[], SparkSession], tmp_path: Path, spark_server: Endpoint) -> Shop:
    """After a first refresh and a verified one."""
    made = Shop(open_session(), tmp_path, spark_server, "feed")
    VIEWS["totals"] = (TOTALS, ("name", "part"))
    made.do("UPDATE {customers} SET name = concat('c', k % 4)")
    made.register("totals")
    made.run("totals")
    made.do("INSERT INTO {orders} VALUES (200, 1, 5, DATE'2024-01-05'), (201, 2, NULL, DATE'2025-01-05')")
    assert made.run("totals").mode_code == "verification"
    return made


@pytest.mark.parametrize("many_rows", [added_up.MANY_ROWS, 0], ids=["a small target", "as to a large target"])
def test_changed_rows_are_added_up(shop: Shop, many_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(added_up, "MANY_ROWS", many_rows)
    for statement in (
        "INSERT INTO {orders} SELECT 300 + id, id % 9, id, DATE'2026-02-03' FROM range(30)",
        "UPDATE {orders} SET total = total + 7 WHERE id % 2 = 0",
        "UPDATE {orders} SET total = NULL WHERE customer = 8",
        "DELETE FROM {orders} WHERE id IN (55, 56)",
        "INSERT INTO {orders} VALUES (400, NULL, 5, NULL), (401, 999, 5, NULL)",
    ):
        shop.do(statement)
        result = shop.run("totals")
        assert (result.mode, result.touched) == ("incremental", 0), f"{statement}: {result.mode_reason}"


def test_a_group_whose_end_went_is_computed_again_and_one_without_rows_is_deleted(shop: Shop) -> None:
    shop.do("DELETE FROM {orders} WHERE id <= 3")
    result = shop.run("totals")
    assert result.mode_code == "verification" and result.touched, "touched values are used for the first time"
    shop.do("DELETE FROM {orders} WHERE customer % 3 = 1")
    result = shop.run("totals")
    assert result.mode == "incremental" and result.rows is not None and result.rows.deleted > 0


def test_a_column_that_spark_names_has_everything_compared(
    open_session: Callable[[], SparkSession], tmp_path: Path, spark_server: Endpoint
) -> None:
    """The parser calls it by its argument, which may be the name of another column."""
    made = Shop(open_session(), tmp_path, spark_server, "feed")
    VIEWS["unnamed"] = ("SELECT customer, count(*) AS n, sum(total) FROM orders GROUP BY customer", ("customer",))
    made.do("DELETE FROM {orders} WHERE customer IS NULL")
    made.register("unnamed", mode="auto")
    made.run("unnamed")
    made.do("INSERT INTO {orders} VALUES (200, 1, 5, DATE'2024-01-05')")
    assert made.run("unnamed").mode_code == "other_columns"


def test_a_total_of_all_rows_is_added_up_and_stays_without_rows(
    open_session: Callable[[], SparkSession], tmp_path: Path, spark_server: Endpoint
) -> None:
    """It has no column by whose values rows could be computed again (ADR 70)."""
    made = Shop(open_session(), tmp_path, spark_server, "feed")
    VIEWS["whole"] = (
        "SELECT 'all' AS scope, count(*) AS orders, count(o.total) AS priced, sum(o.total) AS revenue "
        "FROM orders o JOIN customers c ON o.customer = c.k",
        ("scope",),
    )
    made.register("whole")
    made.run("whole")
    steps = (
        ("INSERT INTO {orders} VALUES (200, 1, 5, DATE'2024-01-05'), (201, 2, NULL, DATE'2025-01-05')", "verification"),
        ("UPDATE {orders} SET total = total + 7 WHERE id % 2 = 0", "changes"),
        ("UPDATE {customers} SET k = k + 3", "changes"),
        ("DELETE FROM {orders}", "changes"),
        ("INSERT INTO {orders} VALUES (300, 4, 5, DATE'2024-01-05')", "changes"),
    )
    for statement, code in steps:
        made.do(statement)
        result = made.run("whole")
        assert (result.mode_code, result.rows) == (code, Rows(updated=1)), statement
    assert result.touched == 0
