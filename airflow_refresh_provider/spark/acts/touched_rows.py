"""The rows that touched values stand for: of the query's result, of the inputs that it needs, and of the target.

Touched values are mostly few, and are broadcast then: each process of Spark holds them in memory, the driver too. More
of them are shuffled with the rows, which no process has to hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from airflow_refresh_provider.core.maintain.binding import bound, use_name
from airflow_refresh_provider.core.maintain.spans import restricting
from airflow_refresh_provider.core.plan.plan import Target
from airflow_refresh_provider.ports.tasks import Source, Touched
from airflow_refresh_provider.spark.acts import content, sql, touched_values
from airflow_refresh_provider.spark.connect import faults
from airflow_refresh_provider.spark.connect.queries import NamedRows

_VALUES = "airflow_refresh_touched"
"""The view of touched values that conditions name."""
_Restrictions = tuple[tuple[str | None, ...], ...]
BROADCAST_MAX_VALUES = 1_000_000
BROADCAST_MAX_BYTES = 64 << 20
"""Broadcast the touched values up to this many, and up to this size: their hash table takes several times as much."""


def result(spark: SparkSession, source: Source, target: Target, touched: Touched) -> DataFrame:
    """The rows of the query's result for which all that is needed of the inputs was read; others may be incomplete."""
    values = [f"k{n} AS {_column(n)}" for n in range(len(touched.types))]
    named = NamedRows(spark)
    named.name(_VALUES, touched_values.staged(spark, touched).selectExpr(*values))
    for number, use in enumerate(touched.maintenance.uses):
        with faults.reading(use.input):
            read = touched.reads.get(number, source.reads[use.input])
            named.name(use_name(number), content.rows(spark, read, partial(_needed, number, target, touched)))
    return named.query(bound(source.query, touched.maintenance.uses))


def _needed(number: int, target: Target, touched: Touched, rows: DataFrame) -> DataFrame:
    """The rows of one use of an input that lead to touched anchors; all where that is not known of them."""
    restrictions = touched.maintenance.uses[number].restrictions
    if restrictions is None:
        return rows
    rows = _within_spans(rows, restrictions, touched) if number in touched.skips else rows
    return rows.where(_restricting(restrictions, target, touched))


def desired(spark: SparkSession, source: Source, target: Target, touched: Touched) -> DataFrame:
    """The rows that the target is to have with touched values."""
    rows = content.shaped(result(spark, source, target, touched), target)
    return content.newest(among(spark, rows, touched), source)


def among(spark: SparkSession, rows: DataFrame, touched: Touched) -> DataFrame:
    """The rows of a result, or of the target, whose anchors are touched."""
    anchors = [sql.name(anchor) for anchor in touched.maintenance.anchors]
    conditions = [f"r.{anchor} {_same(n, touched)} k.k{n}" for n, anchor in enumerate(anchors)]
    values = touched_values.staged(spark, touched)
    values = F.broadcast(values) if _few(touched) else values
    return rows.alias("r").join(values.alias("k"), F.expr(" AND ".join(conditions)), "left_semi")


def of_target(
    spark: SparkSession, target: Target, base: int, touched: Touched, columns: Sequence[str] = ("*",)
) -> DataFrame:
    """The rows of a version of the target whose anchors are touched, with some columns."""
    read, only = touched.target_read, partial(_touched, spark, touched)
    rows = content.load(spark, read, only=only) if read else only(content.at_version(spark, target, base))
    return rows.selectExpr(*columns)


def _touched(spark: SparkSession, touched: Touched, rows: DataFrame) -> DataFrame:
    """The rows of the target whose anchors are touched."""
    anchors = tuple(sql.name(anchor) for anchor in touched.maintenance.anchors)
    return among(spark, _within_spans(rows, (anchors,), touched) if touched.skips_target else rows, touched)


def count(spark: SparkSession, target: Target, base: int, touched: Touched) -> int:
    """How many rows of a version of the target have touched values. Only their columns are read."""
    anchors = [sql.name(anchor) for anchor in touched.maintenance.anchors]
    return of_target(spark, target, base, touched, anchors).count()


def _restricting(restrictions: _Restrictions, target: Target, touched: Touched) -> str:
    """The condition that a row of an input leads to touched anchors, in one of the ways in which the text reads it.

    Spark moves a condition of the query such as `IN (SELECT ...)` down to the input that it is about, and below a join
    with the touched values: the whole input would be shuffled for it. A condition below it comes first (ADR 73).
    """
    return " OR ".join(_leading(restriction, target, touched) for restriction in restrictions)


def _leading(restriction: tuple[str | None, ...], target: Target, touched: Touched) -> str:
    """That the anchors that a row leads to are touched: their values as the target stores them, as touched ones are."""
    anchors = sql.key_columns(target.columns, touched.maintenance.anchors)
    known = [(n, value) for n, value in enumerate(restriction) if value is not None]
    stored = ((n, content.stored(f"try_cast({value} AS {touched.types[n]})", anchors[n], target)) for n, value in known)
    same = " AND ".join(f"{value} {_same(n, touched)} {_column(n)}" for n, value in stored)
    hint = f" /*+ BROADCAST({_VALUES}) */" if _few(touched) else ""
    return f"EXISTS (SELECT{hint} 1 FROM {_VALUES} WHERE {same})"


def _column(anchor: int) -> str:
    return f"airflow_refresh_k{anchor}"


def _same(anchor: int, touched: Touched) -> str:
    """How an anchor is compared: Spark joins on one long, and skips NULL, only where no touched value is NULL."""
    return "<=>" if anchor in touched.nulls else "="


def _few(touched: Touched) -> bool:
    return touched.rows <= BROADCAST_MAX_VALUES and touched.bytes <= BROADCAST_MAX_BYTES


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
