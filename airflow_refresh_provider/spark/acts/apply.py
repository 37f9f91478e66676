"""The ways to apply a chunk to the target, each in one commit that carries the chunk's stamp."""

from __future__ import annotations

import re
from typing import assert_never

from pyspark.sql import DataFrame, DataFrameWriter, SparkSession
from pyspark.sql import functions as F

from airflow_refresh_provider.core.definition.columns import HIDDEN, OP, VNODE, Columns
from airflow_refresh_provider.core.plan.placing import partition_columns
from airflow_refresh_provider.core.plan.ways import Way
from airflow_refresh_provider.ports.staging import StagedValues
from airflow_refresh_provider.ports.tasks import ApplyTask
from airflow_refresh_provider.spark.acts import changed_keys, content, few_rows, kernel, sql, stamped_writes

_OLD, _NEW = "airflow_refresh_target", "airflow_refresh_changes"
"""Aliases of target and changes: replaceOn takes `s.k` for a field of a target's column `s`."""
_PARTITION_ROWS = 250_000
_FEWEST_PARTITIONS = 2
BROADCAST_MAX_ROWS = 250_000
"""Broadcast the change set up to this many rows in the join of replaceOn."""
_LOOSE = re.compile(r"\b(?:double|float|collate)\b", re.IGNORECASE)
"""Types with values that are equal and look different: 0.0 and -0.0, letters in another case under a collation."""
_MATERIALIZE_SOURCE = "spark.databricks.delta.insertReplaceOnOrUsing.materializeSource"
_MERGE_MATERIALIZES = "spark.databricks.delta.merge.materializeSource"
"""Delta materializes a source that may be nondeterministic; staged files are not."""
_FEW_ROWS = 10_000
"""So many rows are in few tasks: a shuffle would cost more than a few small files."""


def apply(spark: SparkSession, task: ApplyTask, files: StagedValues) -> None:
    """Apply one chunk in its way. A chunk without changes only commits its stamp."""
    if task.changes is not None and not task.chunk.by_vnode:
        stamped_writes.mark(spark, task.target, task.stamp)
        return
    few = {} if task.changes is None or task.chunk.way.reads_inputs else few_rows.settings_for(rows=task.target_rows)
    with stamped_writes.no_clash_with_vectors(spark, task.target.columns), stamped_writes.setting(spark, few):
        match task.chunk.way:
            case Way.APPEND:
                _append(spark, task)
            case Way.MERGE | Way.SMALL_TABLE:  # of a table that is no longer small
                _merge(spark, task)
            case Way.KEYED_REPLACE:
                _keyed_replace(spark, task, files)
            case Way.REPLACE_ON:
                _replace_on(spark, task)
            case Way.REPLACE_VNODES:
                _replace_vnodes(spark, task)
            case Way.REPLACE_PARTITIONS:
                _replace_partitions(spark, task)
            case Way.REPLACE_TABLE:
                _replace_table(spark, task)
            case Way.REWRITE:
                _overwrite(content.desired(spark, task.source, task.target), task).save(task.target.location)
            case _:
                assert_never(task.chunk.way)


def _append(spark: SparkSession, task: ApplyTask) -> None:
    if task.changes is None:
        rows = content.desired(spark, task.source, task.target, split=task.chunk.split)
        rows = content.with_hidden(rows, task.source, task.target) if _by_vnode(task) else rows
    else:
        rows = _upserts(spark, task)
    rows = rows.repartition(VNODE) if _by_vnode(task) else rows
    with stamped_writes.setting(spark, kernel.settings_for(task.source.query)):
        _written(rows, task).mode("append").save(task.target.location)


def _merge(spark: SparkSession, task: ApplyTask) -> None:
    """The target's vnodes are named as literals, so that merges of other vnodes do not conflict."""
    keys = sql.key_columns(task.target.columns, task.source.keys)
    _chunk(spark, task).createOrReplaceTempView(_NEW)
    columns = [c.name for c in task.target.columns]
    pairs = ", ".join(f"{sql.name(c.name, _OLD)} = {sql.name(c.name, _NEW)}" for c in _updated(task))
    update = f"WHEN MATCHED THEN UPDATE SET {pairs} " if pairs else ""
    vnodes = f"{_OLD}.{VNODE} IN ({_vnodes(task)}) AND " if _by_vnode(task) else ""
    on = f"{vnodes}{_same_keys(task, keys)}"
    statement = (
        f"MERGE INTO {sql.table(task.target.location)} {_OLD} USING {_NEW} ON {on} "
        f"WHEN MATCHED AND {_NEW}.{OP} = 'D' THEN DELETE {update}"
        f"WHEN NOT MATCHED AND {_NEW}.{OP} <> 'D' "
        f"THEN INSERT ({sql.names(columns)}) VALUES ({sql.names(columns, _NEW)})"
    )
    with stamped_writes.stamping(spark, task.stamp), stamped_writes.setting(spark, {_MERGE_MATERIALIZES: "none"}):
        spark.sql(statement).collect()


def _updated(task: ApplyTask) -> Columns:
    """The columns that a matching row is given; Delta refuses to update a column by which it numbers rows.

    A key that matches has the value already, unless equal values of its type may look different.
    """
    keys = {k.lower() for k in task.source.keys}
    return tuple(c for c in task.target.columns if c.name.lower() not in keys or _LOOSE.search(c.type))


def _keyed_replace(spark: SparkSession, task: ApplyTask, files: StagedValues) -> None:
    """A predicate with every changed key."""
    condition = changed_keys.condition(_chunk(spark, task), task, files)
    if condition is None:
        stamped_writes.mark(spark, task.target, task.stamp)
        return
    if _by_vnode(task):
        condition = f"{VNODE} IN ({_vnodes(task)}) AND {condition}"
    _overwrite(_upserts(spark, task), task).option("replaceWhere", condition).save(task.target.location)


def _replace_on(spark: SparkSession, task: ApplyTask) -> None:
    keys = sql.key_columns(task.target.columns, task.source.keys)
    writer = _overwrite(_upserts(spark, task).alias(_NEW), task)
    # A MERGE joins twice with its condition, and the second join does not broadcast: there it would not pay.
    few = task.chunk.counts.total <= BROADCAST_MAX_ROWS
    writer = writer.option("replaceOn", _same_keys(task, keys, broadcast=few)).option("targetAlias", _OLD)
    # Only the changes are shuffled, and the file and position of each row that they replace.
    partitions = max(_FEWEST_PARTITIONS, task.chunk.counts.total // _PARTITION_ROWS)
    confs = {"spark.sql.shuffle.partitions": str(partitions), _MATERIALIZE_SOURCE: "none"}
    confs |= kernel.settings_for(task.source.query)
    with stamped_writes.setting(spark, confs):
        writer.save(task.target.location)


def _replace_table(spark: SparkSession, task: ApplyTask) -> None:
    with stamped_writes.setting(spark, kernel.settings_for(task.source.query)):
        _overwrite(_kept_and_changed(spark, task), task).save(task.target.location)


def _replace_vnodes(spark: SparkSession, task: ApplyTask) -> None:
    rows = _kept_and_changed(spark, task).repartition(VNODE)
    _overwrite(rows, task).option("replaceWhere", f"{VNODE} IN ({_vnodes(task)})").save(task.target.location)


def _replace_partitions(spark: SparkSession, task: ApplyTask) -> None:
    condition = sql.in_partitions(task.target.columns, task.chunk.partitions)
    _overwrite(_upserts(spark, task), task).option("replaceWhere", condition).save(task.target.location)


def _kept_and_changed(spark: SparkSession, task: ApplyTask) -> DataFrame:
    """The desired rows of the chunk's vnodes: unchanged ones from the target, and upserts."""
    before = content.at_version(spark, task.target, task.base)
    if _by_vnode(task):
        before = before.where(f"{VNODE} IN ({_vnodes(task)})")
    keys = task.source.keys
    kept = before.join(_chunk(spark, task).selectExpr(*map(sql.name, keys)), list(keys), "left_anti")
    return kept.selectExpr(*_columns(task)).unionByName(_upserts(spark, task))


def _overwrite(rows: DataFrame, task: ApplyTask) -> DataFrameWriter:
    return _written(rows, task).mode("overwrite")


def _written(rows: DataFrame, task: ApplyTask) -> DataFrameWriter:
    """Many rows are shuffled by partition first: each task would write a file into every partition of its rows.

    Those of a large partition go to several tasks, and those of small ones to one task together.
    """
    columns = partition_columns(task.target)
    few = not task.reads_inputs and not task.chunk.way.keeps_rows and task.chunk.counts.total <= _FEW_ROWS
    if columns and not few:
        rows = rows.hint("rebalance", *(F.col(sql.name(column)) for column in columns))
    return stamped_writes.stamped(rows.write, task.stamp)


def _upserts(spark: SparkSession, task: ApplyTask) -> DataFrame:
    return _chunk(spark, task).where(f"{OP} <> 'D'").selectExpr(*_columns(task))


def _chunk(spark: SparkSession, task: ApplyTask) -> DataFrame:
    assert task.changes is not None
    files, target = task.files, task.target
    rows = content.staged_files(spark, files, target) if files else content.staged(spark, task.changes, target)
    return rows.alias(_NEW).where(_of_chunk(task))


def _of_chunk(task: ApplyTask) -> str:
    keys = sql.key_columns(task.target.columns, task.source.keys)
    return sql.within(f"{_NEW}.{VNODE}", task.chunk.vnodes, task.chunk.keys, keys, _NEW)


def _same_keys(task: ApplyTask, keys: Columns, *, broadcast: bool = False) -> str:
    """The join of target and changes on the key. Delta skips files by literals only, so the range is added."""
    same = (sql.same_keys_by_hash if broadcast else sql.same_keys)(keys, _OLD, _NEW)
    if task.span is None:
        return same
    low, high = (sql.literal(str(value), keys[0].type) for value in task.span)
    return f"{sql.name(keys[0].name, _OLD)} BETWEEN {low} AND {high} AND {same}"


def _columns(task: ApplyTask) -> list[str]:
    return [sql.name(c.name) for c in task.target.columns]


def _vnodes(task: ApplyTask) -> str:
    return ", ".join(map(str, task.chunk.vnodes))


def _by_vnode(task: ApplyTask) -> bool:
    return any(c.name == HIDDEN[0] for c in task.target.columns)
