"""Whether two change sets for the same version of a target are the same, but for the last digits of floating point."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from airflow_refresh_provider.core.definition.columns import OP, ROW_HASH, VNODE, Columns, visible
from airflow_refresh_provider.core.plan.plan import StagedTable
from airflow_refresh_provider.ports.tasks import Disagreement, VerifyTask
from airflow_refresh_provider.spark.acts import content, key_check, sql, touched_rows

_SIDE = VNODE  # a reserved name, which no column of a target can have


def disagreement(spark: SparkSession, task: VerifyTask) -> Disagreement:
    """The keys whose change is in one of both only, or is another one there."""
    inexact = {name.lower() for name in task.inexact}
    exact = tuple(c for c in visible(task.target.columns) if c.name.lower() not in inexact)
    sides = [
        _signed(_counting(spark, changes, task), task.keys, exact, sign)
        for changes, sign in ((task.one, 1), (task.other, -1))
        if changes is not None
    ]
    both = sides[0] if len(sides) == 1 else sides[0].unionByName(sides[1])
    keys = [sql.name(key) for key in task.keys]
    single = both.groupBy(*keys, OP, ROW_HASH).sum(_SIDE).where(f"`sum({_SIDE})` <> 0").select(*keys).distinct()
    count = single.count()
    return Disagreement(keys=count, examples=key_check.examples(single, task.keys) if count else ())


def _counting(spark: SparkSession, changes: StagedTable, task: VerifyTask) -> DataFrame:
    rows = content.staged(spark, changes, task.target)
    return touched_rows.among(spark, rows, task.among) if task.among else rows


def _signed(changes: DataFrame, keys: tuple[str, ...], columns: Columns, sign: int) -> DataFrame:
    shown = (sql.name(key) for key in keys)
    # A row to delete is known by its key: what else is staged of it differs with how it was found.
    hashed = f"IF({OP} = 'D', 0L, {sql.row_hash(columns)}) AS {ROW_HASH}"
    return changes.selectExpr(*shown, OP, hashed, f"{sign} AS {_SIDE}")
