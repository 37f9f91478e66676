"""Incremental refreshes of joins, aggregates, windows and subqueries on real Spark and Delta."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from airflow_refresh_provider.compose import refreshes
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import Rows, RunResult
from airflow_refresh_provider.delta.tables.delta_table import open_table
from airflow_refresh_provider.delta.tables.opened_tables import OpenedTables
from airflow_refresh_provider.delta.tables.target_log import DeltaTableLog
from airflow_refresh_provider.inputs.delta_table import DeltaTables
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.spark.connect.endpoint import Endpoint

FEED = "TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')"
VIEWS: dict[str, tuple[str, tuple[str, ...]]] = {
    "aggregate": (
        "SELECT c.k, c.name, count(o.id) AS orders, sum(o.total) AS revenue, count(DISTINCT o.day) AS days "
        "FROM customers c LEFT JOIN orders o ON o.customer = c.k GROUP BY c.k, c.name",
        ("k",),
    ),
    "join": ("SELECT o.id, o.total, c.name FROM orders o JOIN customers c ON o.customer = c.k", ("id",)),
    "newest": (
        "SELECT customer, id, total FROM orders WHERE customer IS NOT NULL "
        "QUALIFY row_number() OVER (PARTITION BY customer ORDER BY day DESC, id) = 1",
        ("customer",),
    ),
    "by month": (
        "SELECT date_trunc('MONTH', day) AS month, coalesce(c.name, '-') AS name, sum(total) AS s FROM orders o "
        "LEFT JOIN customers c ON o.customer = c.k GROUP BY date_trunc('MONTH', day), coalesce(c.name, '-')",
        ("month", "name"),
    ),
    "without orders": (
        "SELECT k, name FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.k)",
        ("k",),
    ),
    "large": (
        "SELECT customer, sum(total) AS s FROM orders WHERE customer IS NOT NULL "
        "GROUP BY customer HAVING sum(total) > 370",
        ("customer",),
    ),
    "shared": (
        "WITH t AS (SELECT customer AS k, sum(total) AS s FROM orders GROUP BY customer) SELECT x.k, x.s, c.name "
        "FROM t x JOIN customers c ON c.k = x.k WHERE x.s >= (SELECT min(s) FROM t y WHERE y.k = c.k)",
        ("k",),
    ),
}
DAY = "date_add(DATE'2024-01-01', CAST(id * 7 AS INT))"


class Shop:
    """Customers and orders; `kind` says what the changes of orders are read from."""

    def __init__(self, spark: SparkSession, folder: Path, endpoint: Endpoint, kind: str) -> None:
        self.spark, self.folder, self.kind = spark, folder, kind
        self.refreshes = refreshes(Places(str(folder / "control"), endpoint.url, str(folder / "spark")))
        self.do(
            f"CREATE TABLE {{customers}} USING delta {FEED} AS SELECT CAST(id AS INT) AS k, 'a' AS name FROM range(20)",
            f"CREATE TABLE {{orders}} USING delta {FEED if kind == 'feed' else ''} AS SELECT id, "
            f"CAST(if(id = 7, NULL, id % 17) AS BIGINT) AS customer, id * 3 AS total, {DAY} AS day FROM range(60)",
        )

    def do(self, *statements: str) -> None:
        tables = {name: f"delta.`{self.folder / name}`" for name in ("customers", "orders")}
        for statement in statements:
            self.spark.sql(statement.format(**tables)).collect()

    def register(self, view: str, **more: Any) -> None:
        query, keys = VIEWS[view]
        names = [name for name in ("customers", "orders") if name in query]
        given: dict[str, Any] = {
            "name": view.replace(" ", "_"),
            "target": str(self.folder / view.replace(" ", "_")),
            "query": query,
            "inputs": {name: {"path": str(self.folder / name)} for name in names},
            "keys": keys,
            "mode": "incremental",
            "max_delete_ratio": 1.0,
        }
        self.refreshes.register(Definition.build(**(given | more)))

    def run(self, view: str) -> RunResult:
        """A refresh, after which a comparison of everything finds no difference."""
        name = view.replace(" ", "_")
        result = self.refreshes.run(name, Request())
        assert self.refreshes.compare_only(name).equal
        return result


CHANGES = (
    "INSERT INTO {orders} SELECT 100 + id, CAST(id AS BIGINT), id, DATE'2024-02-03' FROM range(3)",
    "UPDATE {orders} SET customer = 19 WHERE id = 4",
    "DELETE FROM {orders} WHERE customer = 5",
    "UPDATE {customers} SET name = 'b' WHERE k IN (2, 18)",
    "DELETE FROM {customers} WHERE k = 3",
)


@pytest.mark.parametrize("kind", ["feed", pytest.param("files", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "view", ["aggregate", *(pytest.param(v, marks=pytest.mark.slow) for v in VIEWS if v != "aggregate")]
)
def test_changes_are_followed(
    open_session: Callable[[], SparkSession], tmp_path: Path, spark_server: Endpoint, kind: str, view: str
) -> None:
    shop = Shop(open_session(), tmp_path, spark_server, kind)
    shop.register(view)
    shop.run(view)
    codes = []
    for changes in (CHANGES[:1], CHANGES[1:3], CHANGES[3:]):
        made = [change for change in changes if "{customers}" not in change or "customers" in VIEWS[view][0]]
        shop.do(*made)
        if made:
            result = shop.run(view)
            assert not result.notices
            codes.append(result.mode_code)
    assert codes == ["verification", *["changes"] * (len(codes) - 1)]


def test_only_touched_rows_are_compared(
    open_session: Callable[[], SparkSession], tmp_path: Path, spark_server: Endpoint
) -> None:
    shop = Shop(open_session(), tmp_path, spark_server, "feed")
    shop.register("aggregate")
    shop.run("aggregate")
    shop.do("UPDATE {orders} SET total = total + 1 WHERE id = 31")
    assert shop.run("aggregate").mode_code == "verification"
    shop.do("UPDATE {orders} SET total = total + 1 WHERE id = 30")
    assert shop.run("aggregate").rows == Rows(updated=1, unchanged=19)


def test_mode_auto_follows_changes_of_values_that_the_result_leaves_out(
    open_session: Callable[[], SparkSession], tmp_path: Path, spark_server: Endpoint
) -> None:
    shop = Shop(open_session(), tmp_path, spark_server, "feed")
    shop.do(f"INSERT INTO {{orders}} SELECT 1000 + id, 1000 + id, 0, {DAY} FROM range(50000)")
    shop.register("large", mode="auto")
    assert shop.run("large").rows == Rows(inserted=2)
    shop.do("UPDATE {orders} SET total = total + 1 WHERE customer IN (1, 2)")
    assert shop.run("large").mode_code == "verification"
    shop.do("UPDATE {orders} SET total = total + 1 WHERE customer IN (1, 2, 3)")
    assert shop.run("large").mode_code == "changes"


def test_a_refresh_opens_each_version_of_a_table_once(
    open_session: Callable[[], SparkSession], tmp_path: Path, spark_server: Endpoint
) -> None:
    shop = Shop(open_session(), tmp_path, spark_server, "feed")
    shop.register("join")
    shop.run("join")
    shop.do(*CHANGES[:2])
    shop.run("join")
    shop.do("UPDATE {orders} SET total = total + 1 WHERE id = 30")
    opened: list[tuple[str, int]] = []

    def noted(location: str, version: int | None = None) -> DeltaTable | None:
        table = open_table(location, version)
        opened.append((Path(location).name, -1 if table is None else table.version()))
        return table

    tables, ports = OpenedTables(noted), shop.refreshes.ports
    inputs = {**ports.inputs, "delta": DeltaTables(tables)}
    shop.refreshes = Refreshes(replace(ports, log=DeltaTableLog(tables), inputs=inputs))
    assert shop.refreshes.run("join", Request()).mode_code == "changes"
    assert sorted(opened) == sorted(set(opened)) and {name for name, _ in opened} == {"join", "orders", "customers"}
