"""Tables read through Delta Kernel have the rows and the types that Delta's own reader gives, whatever is in them."""

from __future__ import annotations

import urllib.parse
from collections.abc import Callable
from pathlib import Path

import deltalake
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from pyspark.sql import SparkSession

from airflow_refresh_provider.core.definition.inputs import Input
from airflow_refresh_provider.inputs.kinds import kind_of
from airflow_refresh_provider.spark.acts import content, kernel, sql
from airflow_refresh_provider.spark.acts.stamped_writes import setting
from tests.engine.odd_tables import EVERYDAY, ODD_TABLES, OddTable

OpenSession = Callable[[], SparkSession]
READ = kernel.settings_for("SELECT 1")


def seen(spark: SparkSession, table: OddTable, location: Path, settings: dict[str, str]) -> tuple[object, ...]:
    """The rows, the types, and how many rows each filter finds."""
    read = kind_of("delta").pin("odd", Input(path=str(location))).read({})
    with setting(spark, settings):
        content.load(spark, read).createOrReplaceTempView("odd")
        rows = spark.sql(f"SELECT {table.shown} FROM odd")
        filters = (f"SELECT {n} AS n, count(*) AS found FROM odd WHERE {f}" for n, f in enumerate(table.filters))
        found = spark.sql(" UNION ALL ".join(("SELECT -1 AS n, count(*) AS found FROM odd", *filters))).collect()
        return sorted(map(repr, rows.collect())), rows.schema.simpleString(), sorted(map(tuple, found))


@pytest.mark.parametrize(
    "name", [name if name in EVERYDAY else pytest.param(name, marks=pytest.mark.slow) for name in ODD_TABLES]
)
def test_kernel_reads_what_delta_reads(name: str, open_session: OpenSession, tmp_path: Path) -> None:
    table, spark = ODD_TABLES[name], open_session()
    location = table.make(spark, tmp_path)
    by_delta, by_kernel = seen(spark, table, location, {}), seen(spark, table, location, READ)
    assert by_kernel == by_delta
    assert by_delta[2], "the filters were run"


def test_kernel_reads_what_delta_rs_has_written(open_session: OpenSession, tmp_path: Path) -> None:
    spark, location = open_session(), tmp_path / "table"
    moments = pa.array([0, 1, None], pa.timestamp("us", "UTC"))
    rows = pa.table({"a": pa.array([1, 2, None]), "p": ["x", "y/z", None], "t": moments})
    deltalake.write_deltalake(str(location), rows, partition_by=["p"])
    deltalake.write_deltalake(str(location), rows.slice(0, 1), mode="append")
    table = OddTable((), ("p IS NULL", "a > 1", "t > TIMESTAMP'1970-01-01 00:00:00'"))
    assert seen(spark, table, location, READ) == seen(spark, table, location, {})


def test_moments_of_an_older_format_are_read_alike(open_session: OpenSession, tmp_path: Path) -> None:
    spark, location = open_session(), tmp_path / "table"
    with setting(spark, {"spark.sql.parquet.outputTimestampType": "INT96"}):
        moments = "VALUES (TIMESTAMP'2020-01-01 01:02:03.123456'), (TIMESTAMP'1500-01-01 00:00:00'), (NULL) AS m(t)"
        spark.sql(f"SELECT * FROM {moments}").write.parquet(str(location))
    spark.sql(f"CONVERT TO DELTA parquet.{sql.name(str(location))}").collect()
    table = OddTable((), ("t > TIMESTAMP'1950-01-01'", "t < TIMESTAMP'1600-01-01'", "t IS NULL"))
    assert seen(spark, table, location, READ) == seen(spark, table, location, {})


def test_kernel_passes_over_files_by_statistics(open_session: OpenSession, tmp_path: Path) -> None:
    """A file that a filter excludes may be gone."""
    spark, table = open_session(), sql.table(str(tmp_path / "table"))
    spark.sql(
        f"CREATE TABLE {table} USING delta AS SELECT /*+ REPARTITION_BY_RANGE(4, id) */ id, 'x' AS s FROM range(4000)"
    ).collect()
    last = spark.sql(f"SELECT DISTINCT input_file_name() AS f FROM {table} WHERE id >= 3500").collect()
    for row in last:
        Path(urllib.parse.unquote(row.f).removeprefix("file:").replace("///", "/")).unlink()
    with setting(spark, READ):
        for found in ("id BETWEEN 5 AND 7", "(id BETWEEN 5 AND 6 OR id BETWEEN 1500 AND 1500 OR id IS NULL)"):
            assert spark.sql(f"SELECT s FROM {table} WHERE {found}").count() == 3


def test_the_settings_are_those_that_kernel_reads_with(open_session: OpenSession, tmp_path: Path) -> None:
    spark, table = open_session(), sql.table(str(tmp_path / "table"))
    spark.sql(f"CREATE TABLE {table} USING delta AS SELECT id FROM range(3)").collect()
    explained = f"EXPLAIN SELECT * FROM {table} VERSION AS OF 0"
    assert "BatchScan" not in spark.sql(explained).collect()[0][0]
    with setting(spark, READ):
        assert "BatchScan" in spark.sql(explained).collect()[0][0]


def test_a_query_that_asks_for_the_file_of_a_row_is_read_by_delta() -> None:
    assert kernel.settings_for("SELECT k, Input_File_Name() AS f FROM x") == {}
