"""Windows with `on_duplicate: latest`: which rows of the target the added rows replace.

The target has the newest row of each key that was read before, so the newest of it and of the added rows is the newest
of all. Where a row was removed an older one may take its place, and only a comparison finds it.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from airflow_refresh_provider.core.definition.columns import DOUBTFUL, OP, ROW_HASH, VNODE, visible
from airflow_refresh_provider.ports.tasks import WindowTask
from airflow_refresh_provider.spark.acts import content, placing, sql

_GONE, _RANK = OP, VNODE
"""Reserved names, for columns that are dropped again."""


def changes(spark: SparkSession, signed: DataFrame, task: WindowTask) -> DataFrame:
    """A row for each key that has changed: visible columns, hash, op, vnode.

    `signed` are the removed (-1) and the added (1) rows.
    """
    columns = [sql.name(c.name) for c in visible(task.target.columns)]
    newest = _newest(signed, task, columns).alias("s")
    keys = sql.key_columns(task.target.columns, task.source.keys)
    joined = newest.join(_found(spark, task).alias("t"), F.expr(sql.same_keys(keys, "s", "t")), "left_outer")
    no_key = " OR ".join(sql.name(k, "s") + " IS NULL" for k in task.source.keys)
    op = (
        f"CASE WHEN s.{_GONE} OR {no_key} THEN '{DOUBTFUL}' WHEN t.{ROW_HASH} IS NULL THEN 'I' "
        f"WHEN {_newer(task)} THEN 'U' END"
    )
    values = (f"s.{name} AS {name}" for name in (*columns, ROW_HASH))
    vnode = placing.vnode(task.target, task.source.keys, lambda name: sql.name(name, "s"))
    return joined.selectExpr(*values, f"{op} AS {OP}", f"{vnode} AS {VNODE}").where(f"{OP} IS NOT NULL")


def _newest(signed: DataFrame, task: WindowTask, columns: list[str]) -> DataFrame:
    """The newest added row of each key, and whether one of its rows was removed."""
    keys = [F.col(sql.name(k)) for k in task.source.keys]
    row = F.expr(f"struct(sum({OP}) AS net, any_value(struct({', '.join(columns)})) AS row)").alias(OP)
    net = signed.groupBy(*keys, ROW_HASH).agg(row).where(f"{OP}.net <> 0")
    of_key = f"OVER (PARTITION BY {sql.names(task.source.keys)}"
    order = f"{OP}.net > 0 DESC, {OP}.row.{sql.name(_latest(task))} DESC NULLS LAST, {ROW_HASH}"
    values = (f"{OP}.row.{name} AS {name}" for name in columns)
    gone, rank = f"min({OP}.net) {of_key}) < 0 AS {_GONE}", f"row_number() {of_key} ORDER BY {order}) AS {_RANK}"
    return net.selectExpr(*values, ROW_HASH, gone, rank).where(f"{_RANK} = 1")


def _found(spark: SparkSession, task: WindowTask) -> DataFrame:
    """Of each row of the target what decides which is newer."""
    rows = content.at_version(spark, task.target, task.base)
    decisive = dict.fromkeys((*task.source.keys, _latest(task)))
    return rows.selectExpr(*map(sql.name, decisive), f"{sql.row_hash(task.target.columns)} AS {ROW_HASH}")


def _newer(task: WindowTask) -> str:
    """As `content.newest` orders: NULL is oldest, and of equally new rows the one with the smaller hash is taken."""
    s, t = sql.name(_latest(task), "s"), sql.name(_latest(task), "t")
    later = f"({s} IS NOT NULL AND ({t} IS NULL OR {s} > {t}))"
    return f"({later} OR ({s} <=> {t} AND s.{ROW_HASH} < t.{ROW_HASH}))"


def _latest(task: WindowTask) -> str:
    assert task.source.latest_by is not None
    return task.source.latest_by
