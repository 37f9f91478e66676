"""Touched values: from the changed rows of the inputs to the anchors, staged once. And a sample of other values.

Which rows that are is decided by `core.maintain`; here its expressions become joins.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from airflow_refresh_provider.core.definition.columns import OP, ROW_HASH
from airflow_refresh_provider.core.maintain.binding import changed_name, touching, wide_name
from airflow_refresh_provider.core.maintain.plan import Route
from airflow_refresh_provider.ports.staging import StagedValues
from airflow_refresh_provider.ports.tasks import PartitionsTask, SampleTask, Touched, TouchTask
from airflow_refresh_provider.spark.acts import (
    changed_rows,
    content,
    ddl,
    few_rows,
    few_touched,
    kernel,
    sql,
    stamped_writes,
    touched_spans,
)
from airflow_refresh_provider.spark.acts.observed import observe, observed
from airflow_refresh_provider.spark.acts.touched_spans import Found
from airflow_refresh_provider.spark.connect import faults

_DRAWN_OF = 1_000_000
"""The smallest share of a sample is one of so many."""


def touch(spark: SparkSession, task: TouchTask, files: StagedValues) -> Touched:
    """Stage them, and measure them on the way."""
    anchors = sql.key_columns(task.target.columns, task.maintenance.anchors)
    found = few_touched.values(task, _routes(task), files)
    if found is not None:
        types = tuple(anchor.type for anchor in anchors)
        files.stage(task.location, types, found)
        seen = few_touched.measured(found, anchors)
        return _described(task, types, Found(_read(spark, task.location, types), task.location, files, seen, found))
    # On its way through other inputs a changed value meets all of their rows.
    few = {} if any(route.hops for route in _routes(task)) else few_rows.settings_for(bytes=task.bytes)
    with stamped_writes.setting(spark, kernel.settings_for(task.source.query) | few):
        return _staged(spark, _values(spark, task), task, files)


def _values(spark: SparkSession, task: TouchTask) -> DataFrame:
    _name_rows(spark, task)
    anchors = sql.key_columns(task.target.columns, task.maintenance.anchors)
    found = spark.sql(" UNION ALL ".join(touching(route, [c.type for c in anchors]) for route in _routes(task)))
    stored = (f"{content.stored(f'k{n}', anchor, task.target)} AS k{n}" for n, anchor in enumerate(anchors))
    return found.selectExpr(*stored).distinct()


def _routes(task: TouchTask) -> list[Route]:
    """The routes of inputs with rows that touch values."""
    return [route for route in task.maintenance.routes if route.input in task.touching]


def sample(spark: SparkSession, task: SampleTask, files: StagedValues) -> Touched:
    """Stage the values that some rows of the target have, by their hash: in no order that files or changes follow."""
    anchors = (f"{sql.name(anchor)} AS k{n}" for n, anchor in enumerate(task.maintenance.anchors))
    columns = [f"k{n}" for n in range(len(task.maintenance.anchors))]
    rows = content.at_version(spark, task.target, task.base).selectExpr(*anchors)
    drawn = F.pmod(F.xxhash64(*columns, F.lit(task.seed)), F.lit(_DRAWN_OF)) < F.lit(task.share * _DRAWN_OF)
    values = rows.where(drawn).distinct()
    if task.without:
        touched = staged(spark, task.without).alias("t")
        same = " AND ".join(f"v.{name} <=> t.{name}" for name in columns)
        values = values.alias("v").join(touched, F.expr(same), "left_anti")
    return _staged(spark, values, task, files)


def narrowed(spark: SparkSession, task: PartitionsTask, files: StagedValues) -> Touched:
    """Touched values by some of their anchors; the same where these are all."""
    anchors = task.maintenance.anchors
    if anchors == task.touched.maintenance.anchors:
        return task.touched
    places = map(task.touched.maintenance.anchors.index, anchors)
    kept = (f"k{place} AS k{n}" for n, place in enumerate(places))
    return _staged(spark, staged(spark, task.touched).selectExpr(*kept).distinct(), task, files)


def _staged(
    spark: SparkSession, values: DataFrame, task: TouchTask | PartitionsTask | SampleTask, files: StagedValues
) -> Touched:
    anchors = sql.key_columns(task.target.columns, task.maintenance.anchors)
    measures = Observation("touched")
    observe(values, measures, *touched_spans.measures(anchors)).write.mode("overwrite").parquet(task.location)
    types = tuple(ddl.type_text(field.dataType) for field in values.schema)
    seen = observed(measures)
    return _described(task, types, Found(_read(spark, task.location, types), task.location, files, seen))


def _described(task: TouchTask | PartitionsTask | SampleTask, types: tuple[str, ...], found: Found) -> Touched:
    anchors = sql.key_columns(task.target.columns, task.maintenance.anchors)
    return Touched(
        location=task.location,
        maintenance=task.maintenance,
        rows=found.seen.get("values", 0),
        bytes=found.seen.get("bytes") or 0,
        types=types,
        nulls=touched_spans.with_nulls(anchors, found.seen),
        spans=touched_spans.spans(found, anchors),
    )


def staged(spark: SparkSession, touched: Touched) -> DataFrame:
    """The touched values, in columns k0, k1, ..."""
    return _read(spark, touched.location, touched.types)


def _read(spark: SparkSession, folder: str, types: tuple[str, ...]) -> DataFrame:
    schema = ", ".join(f"k{n} {kind}" for n, kind in enumerate(types))
    return spark.read.schema(schema).parquet(content.literally(folder))


def _name_rows(spark: SparkSession, task: TouchTask) -> None:
    """Give the changed rows of each input a name, and those that changed rows are joined with."""
    went: dict[str, DataFrame] = {}
    for name in task.touching:
        read, found = task.source.reads[name], []
        with faults.reading(name):
            if name in task.changes:
                signed = changed_rows.signed(spark, read, task.changes[name]).drop(*read.hidden)
                went[name] = signed.where(f"{OP} < 0").drop(OP)
                found.append(_changed(task, name, signed))
            if name in task.turned:
                turned = content.rows(spark, read).where(task.turned[name])
                found.append(turned.select(*_columns(task, name) or ["*"]))
            reduce(DataFrame.unionByName, found).createOrReplaceTempView(changed_name(name))
    for name in {hop.input for route in _routes(task) for hop in route.hops}:
        with faults.reading(name):
            rows = content.rows(spark, task.source.reads[name])
            wide = rows.unionByName(went[name]) if name in went else rows
            wide.createOrReplaceTempView(wide_name(name))


def _changed(task: TouchTask, name: str, signed: DataFrame) -> DataFrame:
    """The changed rows of an input with the columns that count."""
    columns = _columns(task, name)
    if name in task.by_partition:
        return signed.select(*columns).distinct()
    return _net(signed.select(*columns, OP) if columns else signed)


def _columns(task: TouchTask, name: str) -> list[str]:
    """The columns of an input that count, none for all."""
    return [sql.name(column) for column in task.by_partition.get(name) or task.maintenance.used.get(name) or ()]


def _net(signed: DataFrame) -> DataFrame:
    """The rows that are not both among the removed and the added ones: files have unchanged rows too."""
    columns = tuple(c for c in ddl.columns_of(signed.schema) if c.name != OP)
    row = f"struct({', '.join(sql.name(c.name) for c in columns)}) AS row"
    hashed = signed.selectExpr(row, f"{sql.row_hash(columns)} AS {ROW_HASH}", OP)
    net = F.expr(f"struct(sum({OP}) AS net, any_value(row) AS row)").alias(OP)
    return hashed.groupBy(ROW_HASH).agg(net).where(f"{OP}.net <> 0").select(f"{OP}.row.*")
