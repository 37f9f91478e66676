"""The comparison: one job that finds every difference between desired content and target, and stages it.

A full outer join on the key, the target's side narrowed to key and hash. The rows of both sides are counted while they
pass, so that repeated keys show without another look: each row of either side that has a partner must have exactly
one. A row hash is never NULL, so one that is tells that its side has no row.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from airflow_refresh_provider.core.columns import OP, ROW_HASH, VNODE, visible
from airflow_refresh_provider.core.plan import ChangeCounts, StagedTable, Target
from airflow_refresh_provider.errors import Failed
from airflow_refresh_provider.ports.engine import CompareTask, Comparison, KeyReport, Sample
from airflow_refresh_provider.spark import content, ddl, keycheck, sql, writing

_IN_PLACE = OP  # a reserved name, so that no column of a target can have it
_PARTITION_ROWS = 750_000
_FEWEST_PARTITIONS = 4


@dataclass(frozen=True)
class _Counted:
    source: Observation
    target: Observation
    joined: Observation


def compare(spark: SparkSession, task: CompareTask) -> Comparison:
    """Stage the differences and count them."""
    counted = _Counted(Observation("source"), Observation("target"), Observation("joined"))
    _stage(spark, task, counted)
    changes = StagedTable(location=task.location, version=0)
    counts, keys = _summary(spark, task, changes)
    _check_places(task, counted.target)
    source_rows, target_rows, joined = _rows(counted.source), _rows(counted.target), counted.joined.get
    pairs, new, gone = joined.get("pairs", 0), joined.get("new", 0), joined.get("gone", 0)
    doubtful = bool(keys.duplicate_keys or keys.null_keys)
    if doubtful or pairs != target_rows - gone:
        keys = keycheck.check(content.desired(spark, task.source, task.target, task.rows), task.source.keys)
    if not (keys.duplicate_keys or keys.null_keys) and (doubtful or pairs != source_rows - new):
        _check_target(spark, task)
    return Comparison(changes=changes, counts=counts, source_rows=source_rows, target_rows=target_rows, keys=keys)


def _stage(spark: SparkSession, task: CompareTask, counted: _Counted) -> None:
    rows = _expected_rows(spark, task)
    partitions = max(_FEWEST_PARTITIONS, -(-rows // _PARTITION_ROWS))
    differences = _differences(spark, task, counted)
    if task.partitioned:
        differences = differences.repartition(VNODE)
    writer = writing.stamped(differences.write, task.stamp).mode("overwrite").options(**ddl.naming(task.target.columns))
    with writing.setting(spark, {"spark.sql.shuffle.partitions": str(partitions)}):
        (writer.partitionBy(VNODE) if task.partitioned else writer).save(task.location)


def _expected_rows(spark: SparkSession, task: CompareTask) -> int:
    """Rows of the larger side. The target's are counted, which its log answers; the source's as far as pins know."""
    known = (pin.rows or 0 for pin in task.source.pins.values())
    return max(content.at_version(spark, task.target.location, task.base).count(), *known, 0)


def _rows(side: Observation) -> int:
    return int(side.get.get("rows", 0))


def _check_target(spark: SparkSession, task: CompareTask) -> None:
    """Refuse a target with keys that repeat or are NULL: no chunk could name the rows to keep or to remove."""
    report = keycheck.check(content.at_version(spark, task.target.location, task.base), task.source.keys)
    if report.duplicate_keys:
        raise _bad_target(
            "duplicate_target_key",
            f"{report.duplicate_keys} keys occur more than once in the target {task.target.location}, "
            f"such as {'; '.join(report.duplicate_examples)}",
        )
    if report.null_keys:
        raise _bad_target(
            "null_target_key",
            f"{report.null_keys} rows of the target {task.target.location} have a NULL in the key, "
            f"such as {'; '.join(report.null_examples)}",
        )


def _bad_target(code: str, message: str) -> Failed:
    return Failed(
        code,
        message,
        left="The target was not changed by the comparison.",
        next="Remove these rows from the target; they were not written by a refresh. Then run again.",
    )


def _differences(spark: SparkSession, task: CompareTask, counted: _Counted) -> DataFrame:
    keys = sql.key_columns(task.target.columns, task.source.keys)
    columns = visible(task.target.columns)
    desired = _desired(spark, task, counted)
    found = _found(spark, task, counted)
    joined = desired.alias("s").join(
        found.alias("t").hint("shuffle_hash"), F.expr(sql.same_keys(keys, "s", "t")), "full_outer"
    )
    joined = joined.observe(
        counted.joined,
        F.expr(f"count_if(s.{ROW_HASH} IS NOT NULL AND t.{ROW_HASH} IS NOT NULL)").alias("pairs"),
        F.expr(f"count_if(s.{ROW_HASH} IS NULL)").alias("gone"),
        F.expr(f"count_if(t.{ROW_HASH} IS NULL)").alias("new"),
    )
    gone = "'D'" if task.deletes else "NULL"
    op = (
        f"CASE WHEN s.{ROW_HASH} IS NULL THEN {gone} WHEN t.{ROW_HASH} IS NULL THEN 'I' "
        f"WHEN s.{ROW_HASH} <> t.{ROW_HASH} THEN 'U' END"
    )
    key_names = {k.name.lower() for k in keys}
    values = [
        f"coalesce({sql.name(c.name, 's')}, {sql.name(c.name, 't')}) AS {sql.name(c.name)}"
        if c.name.lower() in key_names
        else f"{sql.name(c.name, 's')} AS {sql.name(c.name)}"
        for c in columns
    ]
    changed = joined.selectExpr(*values, f"s.{ROW_HASH} AS {ROW_HASH}", f"{op} AS {OP}").where(f"{OP} IS NOT NULL")
    return changed.selectExpr("*", f"{_vnode_of(task)} AS {VNODE}")


def _desired(spark: SparkSession, task: CompareTask, counted: _Counted) -> DataFrame:
    rows = content.desired(spark, task.source, task.target, task.rows)
    rows = rows.where(_in_vnodes(task)) if task.vnodes is not None else rows
    rows = rows.selectExpr("*", f"{sql.row_hash(task.target.columns)} AS {ROW_HASH}")
    return rows.observe(counted.source, F.count(F.lit(1)).alias("rows"))


def _found(spark: SparkSession, task: CompareTask, counted: _Counted) -> DataFrame:
    rows = content.at_version(spark, task.target.location, task.base)
    by_vnode = any(c.name == ROW_HASH for c in task.target.columns)
    if task.vnodes is not None:
        literals = ", ".join(map(str, task.vnodes))
        rows = rows.where(f"{VNODE} IN ({literals})" if by_vnode else _in_vnodes(task))
    believed = by_vnode and task.stored_hashes
    hashed = f"coalesce({ROW_HASH}, 0L)" if believed else sql.row_hash(task.target.columns)
    in_place = f"{VNODE} <=> {_vnode_of(task)}" if by_vnode and not believed else "true"
    rows = rows.selectExpr(*map(sql.name, task.source.keys), f"{hashed} AS {ROW_HASH}", f"{in_place} AS {_IN_PLACE}")
    misplaced = F.expr(f"count_if(NOT {_IN_PLACE})").alias("misplaced")
    return rows.observe(counted.target, F.count(F.lit(1)).alias("rows"), misplaced).drop(_IN_PLACE)


def _check_places(task: CompareTask, target: Observation) -> None:
    """Refuse rows that lie in another vnode than their key's: no chunk would find them there."""
    if misplaced := target.get.get("misplaced", 0):
        table = sql.table(task.target.location)
        raise Failed(
            "misplaced_target_rows",
            f"{misplaced} rows of the target {task.target.location} have a {VNODE} that is not their key's",
            left="The target was not changed by the comparison.",
            next="They were not written by a refresh, which fills the hidden columns. Remove them, then run again: "
            f"DELETE FROM {table} WHERE NOT ({VNODE} <=> {_vnode_of(task)})",
        )


def _vnode_of(task: CompareTask) -> str:
    return sql.vnode(sql.key_columns(task.target.columns, task.source.keys), task.target.vnodes)


def _in_vnodes(task: CompareTask) -> str:
    return f"{_vnode_of(task)} IN ({', '.join(map(str, task.vnodes or ()))})"


def _summary(spark: SparkSession, task: CompareTask, changes: StagedTable) -> tuple[dict[int, ChangeCounts], KeyReport]:
    """Counts by vnode, and whether staged keys are NULL or repeat."""
    keys = sql.names(task.source.keys)
    no_key = " OR ".join(f"{sql.name(k)} IS NULL" for k in task.source.keys)
    found = spark.sql(
        f"SELECT {VNODE} AS v, sum(i) AS i, sum(u) AS u, sum(d) AS d, sum(no_key) AS no_key, sum(again) AS again FROM ("
        f"SELECT {VNODE}, count_if({OP} = 'I') AS i, count_if({OP} = 'U') AS u, count_if({OP} = 'D') AS d, "
        f"count_if({no_key}) AS no_key, IF(count(*) > 1, 1, 0) AS again "
        f"FROM {sql.table(changes.location)} VERSION AS OF {changes.version} GROUP BY {VNODE}, {keys}) GROUP BY {VNODE}"
    ).collect()
    counts = {r.v: ChangeCounts(inserted=r.i, updated=r.u, deleted=r.d) for r in found}
    report = KeyReport(rows=0, null_keys=sum(r.no_key for r in found), duplicate_keys=sum(r.again for r in found))
    return counts, report


def samples(
    spark: SparkSession, changes: StagedTable, target: Target, keys: tuple[str, ...], base: int, limit: int
) -> tuple[Sample, ...]:
    """Some staged differences beside the rows that the target has for their keys."""
    shown = [c.name for c in visible(target.columns)]
    same = sql.same_keys(sql.key_columns(target.columns, keys), "s", "t")
    differing = content.staged(spark, changes).limit(limit).alias("s")
    pairs = differing.join(content.at_version(spark, target.location, base).alias("t"), F.expr(same), "left")
    rows = pairs.selectExpr(
        f"s.{OP} AS op", f"struct({sql.names(shown, 's')}) AS desired", f"struct({sql.names(shown, 't')}) AS found"
    ).collect()
    return tuple(
        Sample(
            op=row.op,
            desired=None if row.op == "D" else row.desired.asDict(recursive=True),
            found=None if row.op == "I" else row.found.asDict(recursive=True),
        )
        for row in rows
    )
