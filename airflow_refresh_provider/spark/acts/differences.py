"""Differences between desired content and target, as DataFrames: nothing is run here.

A full outer join on the key, with only key and hash of the target. A row hash is never NULL, so a NULL in the result
means that this side has no row. The rows of both sides are counted with observations.

Content that can be read twice at little cost is compared by key and hash alone, so that whole rows are not shuffled;
the rows that differ are then looked up. Any other query is run once, with all columns in the join.

Columns that are compared within a tolerance are read from the target too. A row whose hash differs is no difference if
all of these are near, and the hash is that of the target once they are taken from it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from airflow_refresh_provider.core.definition.columns import OP, ROW_HASH, VNODE, Columns, visible
from airflow_refresh_provider.ports.tasks import CompareTask
from airflow_refresh_provider.spark.acts import content, placing, sql, touched_rows
from airflow_refresh_provider.spark.acts.near import near as near_sql
from airflow_refresh_provider.spark.acts.observed import observe

Within = Callable[[DataFrame], DataFrame]
"""Leaves the rows of either side that are compared."""
_IN_PLACE = OP  # a reserved name, which no column of a target can have
_NEAR = "N"
"""In place of an operation: a row that differs within the tolerance only."""


@dataclass(frozen=True)
class Counted:
    """Observations: matching and single rows always, the rows of each side only with `sides`, those within a tolerance
    only where there is one.

    An observation ends whole-stage code generation, which costs a tenth of the comparison for each side.
    """

    sides: bool
    source: Observation = field(default_factory=lambda: Observation("source"))
    target: Observation = field(default_factory=lambda: Observation("target"))
    joined: Observation = field(default_factory=lambda: Observation("joined"))
    near: Observation = field(default_factory=lambda: Observation("near"))


def all_rows(rows: DataFrame) -> DataFrame:
    """Those of a comparison that leaves none out."""
    return rows


def whole(spark: SparkSession, task: CompareTask, counted: Counted, within: Within = all_rows) -> DataFrame:
    """The rows that differ: visible columns, hash, op, vnode. Rows to delete have their key only."""
    # The hash table is built from the target's keys; a sort-merge join would sort the whole rows.
    return _joined(spark, task, counted, visible(task.target.columns), "shuffle_hash", within)


def of_keys(spark: SparkSession, task: CompareTask, counted: Counted) -> DataFrame:
    """Only the keys that differ, with hash, op and vnode."""
    return _joined(spark, task, counted, _keys(task), "merge", all_rows)


def widened(spark: SparkSession, task: CompareTask, differing: DataFrame, *, few: bool) -> DataFrame:
    """The rows of the keys that differ, as `whole` returns them; `few` keys are broadcast."""
    keys = {k.name.lower() for k in _keys(task)}
    columns = visible(task.target.columns)
    extra = (ROW_HASH, OP, VNODE)
    kept = differing.where(f"{OP} <> 'D'").alias("d")
    found = content.desired(spark, task.source, task.target, task.rows).alias("s")
    kept = F.broadcast(kept) if few else kept
    same = (sql.same_keys_by_hash if few else sql.same_keys)(_keys(task), "s", "d")
    rows = found.join(kept, F.expr(same))
    upserts = rows.selectExpr(*(sql.name(c.name, "s") for c in columns), *(sql.name(n, "d") for n in extra))
    nulls = (
        sql.name(c.name) if c.name.lower() in keys else f"CAST(NULL AS {c.type}) AS {sql.name(c.name)}" for c in columns
    )
    deletes = differing.where(f"{OP} = 'D'").selectExpr(*nulls, *extra)
    return upserts.unionAll(deletes)


def vnode_of(task: CompareTask) -> str:
    """The vnode of a row of either side."""
    return placing.vnode(task.target, task.source.keys)


def _joined(
    spark: SparkSession, task: CompareTask, counted: Counted, columns: Columns, hint: str, within: Within
) -> DataFrame:
    desired = _desired(within(_content(spark, task)), task, counted, _with_placing(task, columns)).alias("s")
    found = _found(within(_target_rows(spark, task)), task, counted).alias("t").hint(hint)
    joined = observe(
        desired.join(found, F.expr(sql.same_keys(_keys(task), "s", "t")), "full_outer"),
        counted.joined,
        F.expr(f"count_if(s.{ROW_HASH} IS NOT NULL AND t.{ROW_HASH} IS NOT NULL)").alias("pairs"),
        F.expr(f"count_if(s.{ROW_HASH} IS NULL)").alias("gone"),
        F.expr(f"count_if(t.{ROW_HASH} IS NULL)").alias("new"),
    )
    gone = "'D'" if task.deletes else "NULL"
    op = (
        f"CASE WHEN s.{ROW_HASH} IS NULL THEN {gone} WHEN t.{ROW_HASH} IS NULL THEN 'I' "
        f"{_when_near(task)}WHEN s.{ROW_HASH} <> t.{ROW_HASH} THEN 'U' END"
    )
    key_names = {k.name.lower() for k in _keys(task)}
    values = (
        f"coalesce({sql.name(c.name, 's')}, {sql.name(c.name, 't')}) AS {sql.name(c.name)}"
        if c.name.lower() in key_names
        else f"{sql.name(c.name, 's')} AS {sql.name(c.name)}"
        for c in columns
    )
    vnode = placing.vnode(task.target, task.source.keys, _value_of_either)
    rows = joined.selectExpr(*values, f"s.{ROW_HASH} AS {ROW_HASH}", f"{op} AS {OP}", f"{vnode} AS {VNODE}")
    if task.inexact:
        of_near = F.expr(f"count_if({OP} = '{_NEAR}')").alias("rows")
        rows = observe(rows, counted.near, of_near).where(f"{OP} <> '{_NEAR}'")
    return rows.where(f"{OP} IS NOT NULL")


def _with_placing(task: CompareTask, columns: Columns) -> Columns:
    """The columns, and those that decide on the vnode."""
    decisive = placing.columns_beside_key(task.target, task.source.keys)
    return tuple(dict.fromkeys((*columns, *sql.key_columns(task.target.columns, decisive))))


def _value_of_either(column: str) -> str:
    """The value in the desired row; in that of the target where there is none."""
    return f"IF(s.{ROW_HASH} IS NULL, {sql.name(column, 't')}, {sql.name(column, 's')})"


def _when_near(task: CompareTask) -> str:
    """The case of a row that differs within the tolerance only; nothing where no column has one."""
    if not task.inexact:
        return ""
    columns = _inexact(task)
    near = (near_sql(sql.name(c.name, "s"), sql.name(c.name, "t"), c.type, task.tolerance) for c in columns)
    same = f"{sql.row_hash_with(task.target.columns, columns, 's', 't')} = t.{ROW_HASH}"
    return f"WHEN s.{ROW_HASH} <> t.{ROW_HASH} AND {' AND '.join(near)} AND {same} THEN '{_NEAR}' "


def _desired(rows: DataFrame, task: CompareTask, counted: Counted, columns: Columns) -> DataFrame:
    rows = rows.where(_in_vnodes(task)) if task.vnodes is not None else rows
    rows = rows.selectExpr(*(sql.name(c.name) for c in columns), f"{sql.row_hash(task.target.columns)} AS {ROW_HASH}")
    return observe(rows, counted.source, F.count(F.lit(1)).alias("rows")) if counted.sides else rows


def _content(spark: SparkSession, task: CompareTask) -> DataFrame:
    if task.touched is None:
        return content.desired(spark, task.source, task.target, task.rows)
    return touched_rows.desired(spark, task.source, task.target, task.touched)


def _target_rows(spark: SparkSession, task: CompareTask) -> DataFrame:
    if task.touched is None:
        return content.at_version(spark, task.target, task.base)
    return touched_rows.of_target(spark, task.target, task.base, task.touched)


def _found(rows: DataFrame, task: CompareTask, counted: Counted) -> DataFrame:
    by_vnode = any(c.name == ROW_HASH for c in task.target.columns)
    if task.vnodes is not None:
        literals = ", ".join(map(str, task.vnodes))
        rows = rows.where(f"{VNODE} IN ({literals})" if by_vnode else _in_vnodes(task))
    stored = by_vnode and task.stored_hashes
    hashed = f"coalesce({ROW_HASH}, 0L)" if stored else sql.row_hash(task.target.columns)
    in_place = f"{VNODE} <=> {vnode_of(task)}" if by_vnode and not stored else "true"
    decisive = placing.columns_beside_key(task.target, task.source.keys)
    kept = dict.fromkeys((*task.source.keys, *(c.name for c in _inexact(task)), *decisive))
    rows = rows.selectExpr(*map(sql.name, kept), f"{hashed} AS {ROW_HASH}", f"{in_place} AS {_IN_PLACE}")
    if not counted.sides:
        return rows.drop(_IN_PLACE)
    misplaced = F.expr(f"count_if(NOT {_IN_PLACE})").alias("misplaced")
    return observe(rows, counted.target, F.count(F.lit(1)).alias("rows"), misplaced).drop(_IN_PLACE)


def _keys(task: CompareTask) -> Columns:
    return sql.key_columns(task.target.columns, task.source.keys)


def _inexact(task: CompareTask) -> Columns:
    return tuple(c for c in task.target.columns if c.name in task.inexact)


def _in_vnodes(task: CompareTask) -> str:
    return f"{vnode_of(task)} IN ({', '.join(map(str, task.vnodes or ()))})"
