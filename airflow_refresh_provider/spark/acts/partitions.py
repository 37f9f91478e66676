"""Whole partitions of the target: which ones touched values name, and the rows that the query gives for them."""

from __future__ import annotations

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from airflow_refresh_provider.core.definition.columns import OP, Columns
from airflow_refresh_provider.core.plan.plan import Target
from airflow_refresh_provider.core.plan.replacing import MOST_PARTITIONS, PartitionRows
from airflow_refresh_provider.ports.staging import StagedValues
from airflow_refresh_provider.ports.tasks import (
    KeyReport,
    PartitionsTask,
    Recomputed,
    RecomputeTask,
    Touched,
    TouchedPartitions,
)
from airflow_refresh_provider.spark.acts import (
    content,
    kernel,
    key_check,
    placing,
    shuffles,
    sql,
    stamped_writes,
    touched_rows,
    touched_values,
)


def touched(spark: SparkSession, task: PartitionsTask, files: StagedValues) -> TouchedPartitions:
    """The partitions that are touched, with the rows of the target's version. Only their columns are read."""
    with stamped_writes.setting(spark, kernel.settings_for("")):
        values = touched_values.narrowed(spark, task, files)
        if values.rows > MOST_PARTITIONS:
            return TouchedPartitions(touched=values, partitions=())
        columns = _columns(task.target, values)
        rows = touched_rows.of_target(spark, task.target, task.base, values, [sql.name(c.name) for c in columns])
        counted = _by_partition(rows, columns)
        found = _of_each(spark, values, counted, "0").collect()
    return TouchedPartitions(touched=values, partitions=tuple(_partition(row, columns) for row in found))


def recompute(spark: SparkSession, task: RecomputeTask) -> Recomputed:
    """Stage their rows, and check the keys of what was staged: the query is run once."""
    target, keys = _placed(task), task.source.keys
    columns = _columns(target, task.touched)
    settings = shuffles.settings_for(task.rows) | kernel.settings_for(task.source.query)
    with stamped_writes.setting(spark, settings):
        rows = touched_rows.desired(spark, task.source, task.target, task.touched)
        inserts = content.with_hidden(rows, task.source, target).selectExpr("*", f"'I' AS {OP}")
        changes = stamped_writes.stage(inserts, task, by_vnode=task.partitioned)
        staged = content.staged(spark, changes, target)
        counted = _by_partition(key_check.numbered(staged, keys), columns, *key_check.faults())
        numbers = {c.name: f"k{n}" for n, c in enumerate(columns)}
        vnode = placing.vnode(target, tuple(numbers), numbers.__getitem__)
        found = _of_each(spark, task.touched, counted, vnode).collect()
        bad = any(row.no_key or row.repeated for row in found)
        report = key_check.check(staged, keys) if bad else KeyReport(rows=sum(row.found for row in found))
    return Recomputed(changes=changes, partitions=tuple(_partition(row, columns) for row in found), keys=report)


def _placed(task: RecomputeTask) -> Target:
    """The target with each of these partitions in one vnode, whatever their number: chunks replace whole ones."""
    columns = tuple(c.name for c in _columns(task.target, task.touched))
    return task.target.model_copy(update={"partition_by": columns, "partitions": task.target.vnodes})


def _columns(target: Target, values: Touched) -> Columns:
    return sql.key_columns(target.columns, values.maintenance.anchors)


def _by_partition(rows: DataFrame, columns: Columns, *measures: Expression) -> DataFrame:
    """The number of rows of each partition and other measures, with its values in the columns p0, p1, ..."""
    values = (F.col(sql.name(c.name)).alias(f"p{n}") for n, c in enumerate(columns))
    return rows.groupBy(*values).agg(F.count(F.lit(1)).alias("found"), *measures)


def _of_each(spark: SparkSession, values: Touched, measured: DataFrame, vnode: str) -> DataFrame:
    """A row for each touched value, which is a partition; those without rows have 0 for every measure."""
    same = " AND ".join(f"k{n} <=> p{n}" for n in range(len(values.types)))
    joined = touched_values.staged(spark, values).join(measured, F.expr(same), "left")
    texts = (f"CAST(k{n} AS STRING) AS t{n}" for n in range(len(values.types)))
    measures = [name for name in measured.columns if not name.startswith("p")]
    return joined.selectExpr(*texts, *(f"coalesce({name}, 0) AS {name}" for name in measures), f"{vnode} AS vnode")


def _partition(row: Row, columns: Columns) -> PartitionRows:
    values = {c.name: row[f"t{n}"] for n, c in enumerate(columns)}
    return PartitionRows(values=values, rows=row.found, vnode=row.vnode)
