"""The removed and the added rows of an input, by whichever change source has them."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from airflow_refresh_provider.core.changes.reads import Read
from airflow_refresh_provider.core.changes.sources import ChangedRows, FeedFileRows, FeedRows, SeparateRows
from airflow_refresh_provider.core.definition.columns import OP
from airflow_refresh_provider.errors import Failed
from airflow_refresh_provider.spark.acts import content

Sides = tuple[DataFrame, DataFrame]
"""Removed rows, and added rows."""

_REMOVED = ("delete", "update_preimage")
_ADDED = ("insert", "update_postimage")
_OF_FEED = ("_change_type", "_commit_version", "_commit_timestamp")


def sides(spark: SparkSession, whole: Read, changes: ChangedRows) -> Sides:
    """Both, with the columns of the input at its pin. Raises Failed when it had other columns before."""
    match changes:
        case FeedRows(feed=feed):
            return _of_feed(content.load(spark, feed))
        case FeedFileRows():
            return _of_files(spark, changes)
        case SeparateRows():
            empty = content.load(spark, content.for_columns(spark, whole)).where(F.lit(False))
            if changes.before is not None:
                _check_columns(spark, changes.before, whole, empty.schema)
            removed, added = (_side(spark, side, whole, empty) for side in (changes.removed, changes.added))
            return removed, added


def signed(spark: SparkSession, whole: Read, changes: ChangedRows) -> DataFrame:
    """Both in one, with -1 for removed and 1 for added rows in the column OP: a feed is read once."""
    match changes:
        case FeedRows(feed=feed):
            return _signed_feed(content.load(spark, feed))
        case FeedFileRows(feed=files, removed=removed, added=added):
            parts = [_signed_feed(content.load(spark, files))] if files else []
            sides_of = ((removed, -1), (added, 1))
            parts += [content.load(spark, side).withColumn(OP, F.lit(sign)) for side, sign in sides_of if side]
            return reduce(lambda one, other: one.unionByName(other), parts)
        case SeparateRows():
            before, after = sides(spark, whole, changes)
            return before.withColumn(OP, F.lit(-1)).unionByName(after.withColumn(OP, F.lit(1)))


def _signed_feed(rows: DataFrame) -> DataFrame:
    sign = F.when(F.col(_OF_FEED[0]).isin(*_REMOVED), -1).otherwise(1)
    return rows.withColumn(OP, sign).drop(*_OF_FEED)


def _of_files(spark: SparkSession, changes: FeedFileRows) -> Sides:
    """Those in the files of a feed, and in the files that came or went whole."""
    removed, added = (content.load(spark, side) if side else None for side in (changes.removed, changes.added))
    if changes.feed is None:
        some = removed if removed is not None else added
        assert some is not None, "a window without changes is not read"
        none = some.where(F.lit(False))
        return none if removed is None else removed, none if added is None else added
    before, after = _of_feed(content.load(spark, changes.feed))
    return (
        before if removed is None else before.unionByName(removed),
        after if added is None else after.unionByName(added),
    )


def _of_feed(rows: DataFrame) -> Sides:
    return _of_type(rows, _REMOVED), _of_type(rows, _ADDED)


def _side(spark: SparkSession, side: Read | None, whole: Read, empty: DataFrame) -> DataFrame:
    """The rows of one side; `empty` has none, and the columns of the whole input."""
    if side is None:
        return empty
    return content.load(spark, side, empty.schema if side.columns_of == whole else None)


def _of_type(feed: DataFrame, types: tuple[str, ...]) -> DataFrame:
    return feed.where(F.col(_OF_FEED[0]).isin(*types)).drop(*_OF_FEED)


def _check_columns(spark: SparkSession, before: Read, now: Read, columns: StructType) -> None:
    """Files have no common schema: new ones may change the columns that Spark finds in all of them."""
    if content.load(spark, content.for_columns(spark, before)).schema != columns:
        raise Failed(
            "input_reshaped",
            f"new files at {now.location} have changed the columns that all its files are read with",
            left="The target was not changed.",
            next="Run again with mode full.",
        )
