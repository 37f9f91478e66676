"""Windows: what the changes of an input make of the result of a row-wise query.

The input tells which rows have gone and which have come; an update is one of each. The query is run over both, and of
what it gives, rows that went and came again cancel each other. What is left of a key says what becomes of it, in
whatever order things have happened: a row that only came is new, one that only went is gone, one of each is an update.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from airflow_refresh_provider.core.definition.columns import DOUBTFUL, OP, ROW_HASH, VNODE, visible
from airflow_refresh_provider.core.plan.plan import StagedTable
from airflow_refresh_provider.ports.engine import WindowTask
from airflow_refresh_provider.spark.acts import changed_rows, content, sql, stamped_writes

_PARTITIONS = 4
_BYTES_OF_PARTITION = 32 << 20  # of compressed files; rows take several times as much


def read(spark: SparkSession, task: WindowTask) -> StagedTable:
    """Stage the changes."""
    partitions = _PARTITIONS + task.bytes // _BYTES_OF_PARTITION
    with stamped_writes.setting(spark, {"spark.sql.shuffle.partitions": str(partitions)}):
        return stamped_writes.stage(_ends(_signed(spark, task), task), task, by_vnode=task.partitioned)


def _signed(spark: SparkSession, task: WindowTask) -> DataFrame:
    """What the query makes of the rows that went (-1) and of those that came (1)."""
    source = task.source
    sides = {
        name: changed_rows.sides(spark, pin, source.options.get(name, {}), task.changes[name])
        for name, pin in source.pins.items()
    }
    # Its view keeps the plan it was made of; over the rows that came, the inputs' views are made anew.
    _result(spark, task, {name: went for name, (went, _) in sides.items()}, -1).createOrReplaceTempView(OP)
    came = _result(spark, task, {name: came for name, (_, came) in sides.items()}, 1)
    return spark.table(OP).unionByName(came)


def _result(spark: SparkSession, task: WindowTask, reads: Mapping[str, DataFrame], sign: int) -> DataFrame:
    rows = content.shaped(content.over(spark, task.source, reads), task.target)
    return content.with_hidden(rows, task.source, task.target).selectExpr("*", f"{sign} AS {OP}")


def _ends(signed: DataFrame, task: WindowTask) -> DataFrame:
    """A row for each key that ends otherwise than it began: visible columns, hash, op, vnode."""
    columns = [sql.name(c.name) for c in visible(task.target.columns)]
    keys = [F.col(sql.name(k)) for k in task.source.keys]
    row = f"struct({', '.join(columns)}, {ROW_HASH})"
    net = F.expr(f"struct(sum({OP}) AS net, any_value({row}) AS row)").alias(OP)
    # By key, so that what is counted by row and then by key is shuffled once.
    once = signed.repartition(*keys).groupBy(*keys, VNODE, ROW_HASH).agg(net).where(f"{OP}.net <> 0")
    end = F.expr(
        f"struct(sum(greatest({OP}.net, 0)) AS came, sum(greatest(-{OP}.net, 0)) AS went, "
        f"max_by({OP}.row, {OP}.net) AS row)"
    ).alias(OP)
    of_key = once.groupBy(*keys, VNODE).agg(end)
    no_key = " OR ".join(f"{sql.name(k)} IS NULL" for k in task.source.keys)
    op = (
        f"CASE WHEN {no_key} OR {OP}.came > 1 OR {OP}.went > 1 THEN '{DOUBTFUL}' WHEN {OP}.came = 0 THEN 'D' "
        f"WHEN {OP}.went = 0 THEN 'I' ELSE 'U' END"
    )
    values = (f"{OP}.row.{name} AS {name}" for name in (*columns, ROW_HASH))
    found = of_key.selectExpr(*values, f"{op} AS {OP}", VNODE)
    return found if task.deletes else found.where(f"{OP} <> 'D'")
