"""The removed and the added rows of an input, by whichever change source has them."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from airflow_refresh_provider.core.changes.reads import Read
from airflow_refresh_provider.core.changes.sources import ChangedRows, FeedRows, SeparateRows
from airflow_refresh_provider.core.definition.columns import OP
from airflow_refresh_provider.errors import Failed
from airflow_refresh_provider.spark.acts import content

Sides = tuple[DataFrame, DataFrame]
"""Removed rows, and added rows."""

REMOVED = ("delete", "update_preimage")
_ADDED = ("insert", "update_postimage")
KIND_OF_CHANGE = "_change_type"
_OF_FEED = (KIND_OF_CHANGE, "_commit_version", "_commit_timestamp")


def sides(spark: SparkSession, whole: Read, changes: ChangedRows) -> Sides:
    """Both, with the columns of the input at its pin. Raises Failed when it had other columns before."""
    match changes:
        case FeedRows(feed=feed):
            rows = content.load(spark, feed)
            return (
                _with(spark, _of_type(rows, REMOVED), changes.removed),
                _with(spark, _of_type(rows, _ADDED), changes.added),
            )
        case SeparateRows():
            empty = _empty(spark, whole, changes)
            if changes.before is not None:
                _check_columns(spark, changes.before, whole, empty.schema)
            removed, added = (_side(spark, side, whole, empty) for side in (changes.removed, changes.added))
            return removed, added


def signed(spark: SparkSession, whole: Read, changes: ChangedRows) -> DataFrame:
    """Both in one, with -1 for removed and 1 for added rows in the column OP: a feed is read once."""
    if isinstance(changes, FeedRows):
        rows = content.load(spark, changes.feed)
        of_feed = F.when(F.col(KIND_OF_CHANGE).isin(*REMOVED), -1).otherwise(1)
        found = rows.withColumn(OP, of_feed).drop(*_OF_FEED)
        return _with(spark, _with(spark, found, changes.removed, -1), changes.added, 1)
    removed, added = sides(spark, whole, changes)
    return removed.withColumn(OP, F.lit(-1)).unionByName(added.withColumn(OP, F.lit(1)))


def _with(spark: SparkSession, rows: DataFrame, side: Read | None, sign: int | None = None) -> DataFrame:
    """These rows and those of a side, if there is one; with its sign in the column OP, if one is given."""
    if side is None:
        return rows
    more = content.load(spark, side)
    return rows.unionByName(more if sign is None else more.withColumn(OP, F.lit(sign)))


def _empty(spark: SparkSession, whole: Read, changes: SeparateRows) -> DataFrame:
    """No rows, with the columns of the input; its files are not looked at where a side says what they are."""
    known = next((side for side in (changes.removed, changes.added) if side and side.schema_text), None)
    return content.load(spark, known or content.for_columns(spark, whole)).where(F.lit(False))


def _side(spark: SparkSession, side: Read | None, whole: Read, empty: DataFrame) -> DataFrame:
    """The rows of one side; `empty` has none, and the columns of the whole input."""
    if side is None:
        return empty
    return content.load(spark, side, empty.schema if side.columns_of == whole else None)


def _of_type(feed: DataFrame, types: tuple[str, ...]) -> DataFrame:
    return feed.where(F.col(KIND_OF_CHANGE).isin(*types)).drop(*_OF_FEED)


def _check_columns(spark: SparkSession, before: Read, now: Read, columns: StructType) -> None:
    """Files have no common schema: new ones may change the columns that Spark finds in all of them."""
    if content.load(spark, content.for_columns(spark, before)).schema != columns:
        raise Failed(
            "input_reshaped",
            f"new files at {now.location} have changed the columns that all its files are read with",
            left="The target was not changed.",
            next="Run again with mode full.",
        )
