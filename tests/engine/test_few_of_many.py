"""A few changed rows of large sorted tables: refreshes read the pages that may have them, and stay exact."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from deltalake import DeltaTable
from pyspark.sql import SparkSession

from airflow_refresh_provider.compose import refreshes
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import Rows
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.spark.connect.endpoint import Endpoint

ORDERS = 200_000
PROPERTIES = "TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true', 'delta.enableDeletionVectors' = 'true')"
QUERY = (
    "SELECT l.order_id, l.n, l.v, o.day, concat(o.status, '') AS status FROM lines l JOIN orders o ON l.order_id = o.id"
)
CHANGES = (
    (
        ("UPDATE {lines} SET v = -v WHERE order_id IN (5, 77000, 199999)",),
        Rows(updated=6, unchanged=2 * ORDERS - 6),
    ),
    (
        ("UPDATE {orders} SET status = 'b' WHERE id IN (6, 120000)",),
        Rows(updated=4, unchanged=2 * ORDERS - 4),
    ),
    (
        ("DELETE FROM {lines} WHERE order_id IN (5, 6) AND n = 1", "INSERT INTO {lines} VALUES (5, 3, 1), (-1, 1, 1)"),
        Rows(inserted=1, deleted=2, unchanged=2 * ORDERS - 2),
    ),
    (
        ("UPDATE {orders} SET id = 300000 WHERE id = 7", "UPDATE {lines} SET order_id = 300000 WHERE order_id = 7"),
        Rows(inserted=2, deleted=2, unchanged=2 * ORDERS - 3),
    ),
)
"""Statements, and what they change in the target."""


def _corrupt(table: Path) -> None:
    """Overwrite bytes in the middle of its largest file."""
    location = str(table)
    largest = max(
        (Path(uri.removeprefix("file://")) for uri in DeltaTable(location).file_uris()), key=lambda f: f.stat().st_size
    )
    with largest.open("r+b") as file:
        file.seek(largest.stat().st_size // 2)
        file.write(b"\xff" * 2000)


def test_a_few_changed_rows_are_followed_by_reading_their_pages(
    open_session: Callable[[], SparkSession], tmp_path: Path, spark_server: Endpoint
) -> None:
    spark = open_session()
    tables = {name: f"delta.`{tmp_path / name}`" for name in ("orders", "lines")}
    day = "date_add(DATE'2024-01-01', CAST(id % 400 AS INT)) AS day"
    for statement in (
        f"CREATE TABLE {{orders}} USING delta {PROPERTIES} AS SELECT id, {day}, 'a' AS status "
        f"FROM range(0, {ORDERS}, 1, 1)",
        f"CREATE TABLE {{lines}} USING delta {PROPERTIES} AS SELECT id DIV 2 AS order_id, id % 2 + 1 AS n, "
        f"xxhash64(id) AS v FROM range(0, {2 * ORDERS}, 1, 1)",
    ):
        spark.sql(statement.format(**tables)).collect()
    all_of_them = refreshes(Places(str(tmp_path / "control"), spark_server.url, str(tmp_path / "spark")))
    all_of_them.register(
        Definition.build(
            name="d",
            target=str(tmp_path / "gold"),
            query=QUERY,
            inputs={name: {"path": str(tmp_path / name)} for name in tables},
            keys=("order_id", "n"),
            mode="incremental",
        )
    )
    all_of_them.run("d", Request())
    spark.sql("UPDATE {lines} SET v = 0 WHERE order_id = 1".format(**tables)).collect()
    assert all_of_them.run("d", Request()).mode_code == "verification"
    for statements, rows in CHANGES:
        for statement in statements:
            spark.sql(statement.format(**tables)).collect()
        result = all_of_them.run("d", Request())
        assert (result.mode_code, result.rows) == ("changes", rows), statements
    assert all_of_them.compare_only("d").equal

    for name in ("lines", "orders", "gold"):
        _corrupt(tmp_path / name)
    spark.sql("INSERT INTO {lines} VALUES (9, 7, 1)".format(**tables)).collect()
    result = all_of_them.run("d", Request())
    assert (result.mode_code, result.rows.inserted) == ("changes", 1), "no other pages are read"
