"""The rows of a query, staged: to be compared, or to be appended in chunks to an empty target."""

from __future__ import annotations

from pyspark.sql import SparkSession

from airflow_refresh_provider.core.definition.columns import OP, VNODE
from airflow_refresh_provider.ports.tasks import StageTask
from airflow_refresh_provider.spark.acts import content, ddl, kernel, shuffles, stamped_writes


def stage(spark: SparkSession, task: StageTask) -> None:
    """Append them by vnode, so that each chunk reads its own files."""
    settings = shuffles.settings_for(task.rows) | kernel.settings_for(task.source.query)
    with stamped_writes.setting(spark, settings):
        desired = content.desired(spark, task.source, task.target, split=task.split)
        rows = content.with_hidden(desired, task.source, task.target).selectExpr("*", f"'I' AS {OP}")
        writer = stamped_writes.stamped(rows.repartition(VNODE).write, task.stamp).mode("append")
        writer.options(**ddl.naming(task.target.columns)).partitionBy(VNODE).save(task.location)
