"""The rows that touched values stand for: of the query's result, of the inputs that it needs, and of the target.

Touched values are mostly few, and are broadcast then: each process of Spark holds them in memory, the driver too. More
of them are shuffled with the rows, which no process has to hold.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from airflow_refresh_provider.core.maintain.binding import bound, use_name
from airflow_refresh_provider.core.maintain.spans import restricting
from airflow_refresh_provider.core.plan.plan import Target
from airflow_refresh_provider.ports.tasks import Source, Touched
from airflow_refresh_provider.spark.acts import content, sql, touched_values
from airflow_refresh_provider.spark.connect import faults

_Restrictions = tuple[tuple[str | None, ...], ...]
BROADCAST_MAX_VALUES = 1_000_000
BROADCAST_MAX_BYTES = 64 << 20
"""Broadcast the touched values up to this many, and up to this size: their hash table takes several times as much."""


def result(spark: SparkSession, source: Source, target: Target, touched: Touched) -> DataFrame:
    """The rows of the query's result for which all that is needed of the inputs was read; others may be incomplete."""
    values = touched_values.staged(spark, touched)
    for number, use in enumerate(touched.maintenance.uses):
        with faults.reading(use.input):
            rows = content.rows(spark, source.reads[use.input])
            if use.restrictions is not None:
                rows = _within_spans(rows, use.restrictions, touched) if number in touched.skips else rows
                rows = _restricted(rows, use.restrictions, values, target, touched)
            rows.createOrReplaceTempView(use_name(number))
    return spark.sql(bound(source.query, touched.maintenance.uses))


def desired(spark: SparkSession, source: Source, target: Target, touched: Touched) -> DataFrame:
    """The rows that the target is to have with touched values."""
    rows = content.shaped(result(spark, source, target, touched), target)
    return content.newest(among(spark, rows, touched), source)


def among(spark: SparkSession, rows: DataFrame, touched: Touched) -> DataFrame:
    """The rows of a result, or of the target, whose anchors are touched."""
    anchors = [sql.name(anchor) for anchor in touched.maintenance.anchors]
    conditions = [f"r.{anchor} {_same(n, touched)} k.k{n}" for n, anchor in enumerate(anchors)]
    values = _small(touched_values.staged(spark, touched), touched)
    return rows.alias("r").join(values.alias("k"), F.expr(" AND ".join(conditions)), "left_semi")


def of_target(spark: SparkSession, rows: DataFrame, touched: Touched) -> DataFrame:
    """The rows of the target whose anchors are touched."""
    anchors = tuple(sql.name(anchor) for anchor in touched.maintenance.anchors)
    return among(spark, _within_spans(rows, (anchors,), touched) if touched.skips_target else rows, touched)


def count(spark: SparkSession, target: Target, base: int, touched: Touched) -> int:
    """How many rows of a version of the target have touched values. Only their columns are read."""
    anchors = [sql.name(anchor) for anchor in touched.maintenance.anchors]
    rows = content.at_version(spark, target, base).select(*anchors)
    return of_target(spark, rows, touched).count()


def _restricted(
    rows: DataFrame, restrictions: _Restrictions, values: DataFrame, target: Target, touched: Touched
) -> DataFrame:
    """The rows of an input that lead to touched anchors, in one of the ways in which the text reads them."""
    if len(restrictions) == 1:
        keys, same = _keys(restrictions[0], values, target, touched, "")
        return rows.join(_small(keys, touched), F.expr(same), "left_semi")
    names = rows.columns
    for number, restriction in enumerate(restrictions):
        keys, same = _keys(restriction, values, target, touched, f"{number}_")
        once = keys.distinct().withColumn(_mark(number), F.lit(1))
        rows = rows.join(_small(once, touched), F.expr(same), "left")
    needed = " OR ".join(f"{_mark(number)} IS NOT NULL" for number in range(len(restrictions)))
    return rows.where(needed).select(*(F.col(sql.name(name)) for name in names))


def _keys(
    restriction: tuple[str | None, ...], values: DataFrame, target: Target, touched: Touched, prefix: str
) -> tuple[DataFrame, str]:
    """The touched values of the anchors that a row leads to, and the condition that it does.

    Touched values are as the target stores them, so those of the row are too.
    """
    anchors = sql.key_columns(target.columns, touched.maintenance.anchors)
    known = [(n, value) for n, value in enumerate(restriction) if value is not None]
    keys = values.select(*(F.col(f"k{n}").alias(f"airflow_refresh_k{prefix}{n}") for n, _ in known))
    stored = ((n, content.stored(f"try_cast({value} AS {touched.types[n]})", anchors[n], target)) for n, value in known)
    same = (f"{value} {_same(n, touched)} airflow_refresh_k{prefix}{n}" for n, value in stored)
    return keys, " AND ".join(same)


def _same(anchor: int, touched: Touched) -> str:
    """How an anchor is compared: Spark joins on one long, and skips NULL, only where no touched value is NULL."""
    return "<=>" if anchor in touched.nulls else "="


def _mark(number: int) -> str:
    return f"airflow_refresh_found_{number}"


def _small(keys: DataFrame, touched: Touched) -> DataFrame:
    few = touched.rows <= BROADCAST_MAX_VALUES and touched.bytes <= BROADCAST_MAX_BYTES
    return F.broadcast(keys) if few else keys


def _within_spans(rows: DataFrame, restrictions: _Restrictions, touched: Touched) -> DataFrame:
    """The rows that lie within the spans in one of the ways; all of them where that is not known of one."""
    ways = []
    for restriction in restrictions:
        known = ((n, value) for n, value in enumerate(restriction) if value is not None and n in touched.spans)
        conditions = [c for n, value in known if (c := restricting(touched.spans[n], value)) is not None]
        if not conditions:
            return rows
        ways.append(" AND ".join(conditions))
    return rows.where(" OR ".join(f"({way})" for way in ways))
