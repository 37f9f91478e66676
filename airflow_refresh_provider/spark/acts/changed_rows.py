"""The rows of an input that went, and those that came, by whatever the input tells them."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from airflow_refresh_provider.core.changes.pins import FilesPin, Pin
from airflow_refresh_provider.core.changes.sources import ChangedRows, FeedRows, FileTables, NewFiles
from airflow_refresh_provider.errors import Failed
from airflow_refresh_provider.spark.acts import content

Sides = tuple[DataFrame, DataFrame]
"""The rows that went, and those that came."""

_GONE = ("delete", "update_preimage")
_COME = ("insert", "update_postimage")
_OF_FEED = ("_change_type", "_commit_version", "_commit_timestamp")


def sides(spark: SparkSession, pin: Pin, options: dict[str, str], changes: ChangedRows) -> Sides:
    """Both, with the columns that the input has at its pin. Raises Failed when it had others before."""
    match changes:
        case FeedRows():
            feed = _feed(spark, pin, options, changes)
            return _of_kind(feed, _GONE), _of_kind(feed, _COME)
        case NewFiles():
            _check_columns(spark, pin, options, changes)
            came = content.part(spark, changes.files, pin, options)
            return came.where(F.lit(False)), came
        case FileTables(went=gone, came=here):
            nothing = content.pinned(spark, pin, options).where(F.lit(False))
            tables = [_table(spark, place, options) for place in (gone, here)]
            went, came = (nothing if table is None else table for table in tables)
            return went, came


def _feed(spark: SparkSession, pin: Pin, options: dict[str, str], changes: FeedRows) -> DataFrame:
    reader = spark.read.format("delta").options(**options).option("readChangeFeed", "true")
    reader = reader.option("startingVersion", changes.first).option("endingVersion", changes.upto)
    return reader.load(pin.location)


def _table(spark: SparkSession, place: str | None, options: dict[str, str]) -> DataFrame | None:
    return None if place is None else spark.read.format("delta").options(**options).load(place)


def _of_kind(feed: DataFrame, kinds: tuple[str, ...]) -> DataFrame:
    return feed.where(F.col(_OF_FEED[0]).isin(*kinds)).drop(*_OF_FEED)


def _check_columns(spark: SparkSession, pin: Pin, options: dict[str, str], changes: NewFiles) -> None:
    """Files have no common list of columns: new ones may change what Spark makes of all of them."""
    before: FilesPin = changes.before
    was, now = (content.pinned(spark, p, options).schema for p in (before, pin))
    if was != now:
        raise Failed(
            "input_reshaped",
            f"new files at {pin.location} have changed the columns that all its files are read with",
            left="The target was not changed.",
            next="Run again with mode full.",
        )
