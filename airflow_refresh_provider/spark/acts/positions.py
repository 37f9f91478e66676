"""Rows by their position in a file: those that deletion vectors hide are left out, or are all that count."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from airflow_refresh_provider.core.changes.reads import Positions, Read
from airflow_refresh_provider.core.definition.columns import OP
from airflow_refresh_provider.spark.acts import sql

_FILE, _POSITION = f"{OP}_file", f"{OP}_position"


Only = Callable[[DataFrame], DataFrame]
"""Leaves some rows, with all of their columns."""


def without_deleted(spark: SparkSession, rows: DataFrame, read: Read, only: Only) -> DataFrame:
    """Only some rows of a read, without its deleted ones.

    File and position are found for the rows that are left: Spark moves a condition on the result below this join, but
    no semi-join.
    """
    return _looked_up(spark, rows, read, only, read.deleted, "left_anti")


def only_chosen(spark: SparkSession, rows: DataFrame, read: Read, only: Only) -> DataFrame:
    """Only some rows of a read, of those at its chosen positions."""
    return _looked_up(spark, rows, read, only, read.chosen, "left_semi")


def _looked_up(
    spark: SparkSession, rows: DataFrame, read: Read, only: Only, positions: Positions, how: str
) -> DataFrame:
    names = (path.rpartition("/")[2] for path in read.paths)
    numbers = ", ".join(f"{sql.text(name)}, {n}" for n, name in enumerate(names))
    placed = rows.selectExpr(
        "*", f"map({numbers})[_metadata.file_name] AS {_FILE}", f"_metadata.row_index AS {_POSITION}"
    )
    listed = F.broadcast(_rows_of(spark, positions))
    return only(placed).join(listed, [_FILE, _POSITION], how).drop(_FILE, _POSITION)


def _rows_of(spark: SparkSession, positions: Positions) -> DataFrame:
    files = [n for n, of_file in enumerate(positions) for _ in of_file]
    places = [position for of_file in positions for position in of_file]
    columns = {_FILE: pa.array(files, pa.int32()), _POSITION: pa.array(places, pa.int64())}
    return spark.createDataFrame(pa.table(columns))
