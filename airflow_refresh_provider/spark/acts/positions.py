"""Rows that deletion vectors hide, left out by their position in a file."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from airflow_refresh_provider.core.changes.reads import Read
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
    names = (path.rpartition("/")[2] for path in read.paths)
    numbers = ", ".join(f"{sql.text(name)}, {n}" for n, name in enumerate(names))
    placed = rows.selectExpr(
        "*", f"map({numbers})[_metadata.file_name] AS {_FILE}", f"_metadata.row_index AS {_POSITION}"
    )
    gone = F.broadcast(_deleted(spark, read.deleted))
    return only(placed).join(gone, [_FILE, _POSITION], "left_anti").drop(_FILE, _POSITION)


def _deleted(spark: SparkSession, deleted: tuple[tuple[int, ...], ...]) -> DataFrame:
    files = [n for n, positions in enumerate(deleted) for _ in positions]
    positions = [position for each in deleted for position in each]
    columns = {_FILE: pa.array(files, pa.int32()), _POSITION: pa.array(positions, pa.int64())}
    return spark.createDataFrame(pa.table(columns))
