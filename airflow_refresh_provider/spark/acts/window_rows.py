"""Windows: the changes of the result of a query, from the changes of an input alone.

A change source has the removed and the added rows of the input; an update is one of each. The query is run over both,
and rows of its result that were removed and added again cancel each other. What is left of a key is its change, in
whatever order it was committed: only an added row is an insert, only a removed row a delete, one of each an update.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from airflow_refresh_provider.core.changes.reads import Read
from airflow_refresh_provider.core.definition.columns import DOUBTFUL, OP, ROW_HASH, VNODE, visible
from airflow_refresh_provider.core.plan.plan import StagedTable
from airflow_refresh_provider.ports.tasks import WindowTask
from airflow_refresh_provider.spark.acts import (
    added_up,
    changed_rows,
    content,
    few_rows,
    newest_rows,
    placing,
    sql,
    stamped_writes,
)
from airflow_refresh_provider.spark.connect import faults

_PARTITIONS = 4
_BYTES_OF_PARTITION = 32 << 20  # of compressed files; rows take several times as much
_BYTES_OF_TASK = 1 << 20


def read(spark: SparkSession, task: WindowTask) -> StagedTable:
    """Stage the changes."""
    partitions = _PARTITIONS + task.bytes // _BYTES_OF_PARTITION
    # The newest rows are compared with those of the target, which may be large.
    few = few_rows.settings_for(bytes=task.bytes) if task.source.latest_by is None and task.sums is None else {}
    with stamped_writes.setting(spark, {"spark.sql.shuffle.partitions": str(partitions), **few}):
        signed = _signed(spark, task)
        return stamped_writes.stage(_changes(spark, signed, task), task, by_vnode=task.partitioned)


def _changes(spark: SparkSession, signed: DataFrame, task: WindowTask) -> DataFrame:
    if task.sums is not None:
        return added_up.changes(spark, signed, task.sums, task)
    return _ends(signed, task) if task.source.latest_by is None else newest_rows.changes(spark, signed, task)


def _signed(spark: SparkSession, task: WindowTask) -> DataFrame:
    """The query over the removed rows (-1) and over the added rows (1)."""
    source = task.source
    sides: dict[str, changed_rows.Sides] = {}
    for name, read in source.reads.items():
        with faults.reading(name):
            sides[name] = _sides(spark, task, name, read)
    # The view keeps its plan when the views of the inputs are replaced by those over the added rows.
    _result(spark, task, {name: removed for name, (removed, _) in sides.items()}, -1).createOrReplaceTempView(OP)
    added = _result(spark, task, {name: added for name, (_, added) in sides.items()}, 1)
    return spark.table(OP).unionByName(added)


def _sides(spark: SparkSession, task: WindowTask, name: str, read: Read) -> changed_rows.Sides:
    """The removed and the added rows of an input; all of its rows on both sides where it has not changed."""
    if name in task.changes:
        return changed_rows.sides(spark, read, task.changes[name])
    whole = content.load(spark, read)
    return whole, whole


def _result(spark: SparkSession, task: WindowTask, reads: Mapping[str, DataFrame], sign: int) -> DataFrame:
    rows = content.shaped(content.over(spark, task.source, reads), task.target)
    return rows.selectExpr("*", f"{sql.row_hash(task.target.columns)} AS {ROW_HASH}", f"{sign} AS {OP}")


def _is_little(task: WindowTask) -> bool:
    """Whether one task reads everything: little has changed, and nothing is read whole."""
    return task.bytes <= _BYTES_OF_TASK and task.source.reads.keys() <= task.changes.keys()


def _ends(signed: DataFrame, task: WindowTask) -> DataFrame:
    """A row for each key that has changed: visible columns, hash, op, vnode."""
    columns = [sql.name(c.name) for c in visible(task.target.columns)]
    keys = [F.col(sql.name(k)) for k in task.source.keys]
    row = f"struct({', '.join(columns)}, {ROW_HASH})"
    net = F.expr(f"struct(sum({OP}) AS net, any_value({row}) AS row)").alias(OP)
    # By key, so that what is counted by row and then by key is shuffled once; a few rows are not shuffled at all.
    by_key = signed.coalesce(1) if _is_little(task) else signed.repartition(*keys)
    once = by_key.groupBy(*keys, ROW_HASH).agg(net).where(f"{OP}.net <> 0")
    end = F.expr(
        f"struct(sum(greatest({OP}.net, 0)) AS added, sum(greatest(-{OP}.net, 0)) AS removed, "
        f"max_by({OP}.row, {OP}.net) AS row)"
    ).alias(OP)
    of_key = once.groupBy(*keys).agg(end)
    no_key = " OR ".join(f"{sql.name(k)} IS NULL" for k in task.source.keys)
    op = (
        f"CASE WHEN {no_key} OR {OP}.added > 1 OR {OP}.removed > 1 THEN '{DOUBTFUL}' WHEN {OP}.added = 0 THEN 'D' "
        f"WHEN {OP}.removed = 0 THEN 'I' ELSE 'U' END"
    )
    values = (f"{OP}.row.{name} AS {name}" for name in (*columns, ROW_HASH))
    ends = of_key.selectExpr(*values, f"{op} AS {OP}")
    # The vnode of the row that came, or went: an update may move a row to another partition.
    found = ends.selectExpr("*", f"{placing.vnode(task.target, task.source.keys)} AS {VNODE}")
    return found if task.deletes else found.where(f"{OP} <> 'D'")
