"""The files of a table that may have rows within spans have the rows that the table has there, whatever is in it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, Row, SparkSession

from airflow_refresh_provider.core.definition.inputs import Input
from airflow_refresh_provider.core.maintain.spans import Spans, number_of, restricting
from airflow_refresh_provider.delta.tables.column_types import column_types
from airflow_refresh_provider.delta.tables.delta_table import listed_files
from airflow_refresh_provider.delta.tables.files_within import MOST_DELETED, read_of
from airflow_refresh_provider.delta.tables.target_log import DeltaTableLog
from airflow_refresh_provider.inputs.kinds import kind_of
from airflow_refresh_provider.spark.acts import content, sql
from tests.engine.odd_tables import EVERYDAY, ODD_TABLES

OpenSession = Callable[[], SparkSession]
BY_SPANS = {
    "deletion vectors",
    "added columns",
    "far moments",
    "nested",
    "columns of its own",
    "checkpoints of version 2",
    "clustered",
    "odd path",
}
"""Odd tables that are read by their files, and have a column of numbers or days."""
BY_FILES = BY_SPANS | {"NaN and zeros", "long text"}


def _spans(rows: DataFrame, column: str, kind: str) -> Spans | None:
    """Some values of a column, one by one, and the span of two neighbours."""
    number = number_of(sql.name(column), kind)
    found = sorted({row[0] for row in rows.selectExpr(f"{number} AS v").where("v IS NOT NULL").collect()})
    if not found:
        return None
    singles = [(value, value) for value in found[:: max(1, len(found) // 5)]]
    return Spans(type=kind, spans=tuple(dict.fromkeys([*singles, (found[0], found[min(1, len(found) - 1)])])))


def _shown(rows: DataFrame, column: str, spans: Spans) -> tuple[Any, ...]:
    condition = restricting(spans, sql.name(column))
    assert condition is not None
    found = rows.where(condition)
    return sorted(map(repr, found.collect())), found.schema.simpleString()


@pytest.mark.parametrize(
    "name", [name if name in EVERYDAY else pytest.param(name, marks=pytest.mark.slow) for name in ODD_TABLES]
)
def test_files_have_what_the_table_has(name: str, open_session: OpenSession, tmp_path: Path) -> None:
    spark = open_session()
    location = ODD_TABLES[name].make(spark, tmp_path)
    pin: Any = kind_of("delta").pin("odd", Input(path=str(location)))
    by_table = content.load(spark, pin.read({}))
    read = 0
    table = DeltaTable(str(location))
    found = read_of(table, str(location), listed_files(table)["path"].to_pylist())
    for column in column_types(table):
        spans = _spans(by_table, column.name, column.type) if column.type in ("int", "bigint", "date") else None
        if spans and found:
            read += 1
            by_files = _shown(content.load(spark, found), column.name, spans)
            assert by_files == _shown(by_table, column.name, spans)
    assert bool(read) is (name in BY_SPANS), "which tables are read by files"
    whole = DeltaTableLog().few_files(str(location), table.version(), deleted=True)
    assert (whole is not None) is (name in BY_FILES)
    if whole:
        of_files = content.load(spark, whole)
        assert of_files.schema.simpleString() == by_table.schema.simpleString()
        assert sorted(map(repr, of_files.collect())) == sorted(map(repr, by_table.collect()))


def _pages(spark: SparkSession, location: str) -> None:
    """Twenty pages of sorted rows in one file, of which some are deleted and some were updated."""
    vectors = "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
    spark.sql(
        f"CREATE TABLE {sql.table(location)} USING delta {vectors} AS SELECT /*+ COALESCE(1) */ id, id AS v "
        "FROM range(0, 400000, 1, 1)"
    ).collect()
    spark.sql(f"DELETE FROM {sql.table(location)} WHERE id % 50000 = 7").collect()
    spark.sql(f"UPDATE {sql.table(location)} SET v = -v WHERE id IN (3, 100003)").collect()


def test_deleted_rows_are_left_out_where_pages_are_passed_over(open_session: OpenSession, tmp_path: Path) -> None:
    spark, location = open_session(), str(tmp_path / "t")
    _pages(spark, location)
    wanted = (3, 7, 60_000, 100_003, 150_007)
    spans = Spans(type="bigint", spans=tuple((value, value) for value in wanted))
    found = DeltaTableLog().files_within(location, 2, [{"id": spans}])
    assert found is not None
    assert {positions for positions in found.deleted if positions} == {
        (3, *range(7, 100_000, 50_000), 100_003, *range(100_007, 400_000, 50_000))
    }
    log = DeltaTableLog()
    assert log.few_files(location, 2, deleted=False) is None
    assert log.few_files(location, 0, deleted=False) is not None, "none was deleted yet"
    whole = log.few_files(location, 2, deleted=True)
    assert whole is not None and content.load(spark, whole).count() == 400_000 - 8
    rows = content.load(spark, found).where(spans.condition("id"))
    assert sorted(map(tuple, rows.collect())) == [(3, -3), (60_000, 60_000), (100_003, -100_003)]

    spark.sql(f"DELETE FROM {sql.table(location)} WHERE id < {MOST_DELETED}").collect()
    assert DeltaTableLog().files_within(location, 3, [{"id": spans}]) is None, "so many are not sent to Spark"


def test_the_table_is_read_where_its_checksum_knows_of_other_deleted_rows(
    open_session: OpenSession, tmp_path: Path
) -> None:
    spark, location = open_session(), str(tmp_path / "t")
    _pages(spark, location)
    way = {"id": Spans(type="bigint", spans=((60_000, 60_000),))}
    assert DeltaTableLog().files_within(location, 2, [way]) is not None
    checksum = tmp_path / "t" / "_delta_log" / f"{2:020}.crc"
    sums = json.loads(checksum.read_text())
    assert sums["numDeletedRecordsOpt"] == 10
    checksum.write_text(json.dumps({**sums, "numDeletedRecordsOpt": 11}))
    assert DeltaTableLog().files_within(location, 2, [way]) is None


def test_deleted_rows_are_counted_by_their_vectors_where_no_sums_are_stored(
    open_session: OpenSession, tmp_path: Path
) -> None:
    spark, location = open_session(), str(tmp_path / "t")
    _pages(spark, location)
    stored = DeltaTableLog().facts(location)
    (tmp_path / "t" / "_delta_log" / f"{2:020}.crc").unlink()
    counted = DeltaTableLog().facts(location)
    assert stored is not None and stored == counted and stored.rows == spark.read.format("delta").load(location).count()


def test_no_more_than_a_page_is_read_for_one_value(open_session: OpenSession, tmp_path: Path) -> None:
    spark, location = open_session(), str(tmp_path / "t")
    _pages(spark, location)
    found = DeltaTableLog().files_within(location, 0, [{"id": Spans(type="bigint", spans=((60_000, 60_000),))}])
    assert found is not None
    rows = content.load(spark, found).where("id IN (60000)")
    assert rows.collect() == [Row(id=60_000, v=60_000)]
    assert rows.executionInfo is not None and rows.executionInfo.metrics is not None
    read = re.findall(r"numOutputRows: (\d+)", rows.executionInfo.metrics.toText())
    assert 1 <= max(map(int, read)) <= 20_000, "400,000 rows are there"
