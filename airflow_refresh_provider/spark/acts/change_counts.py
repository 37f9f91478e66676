"""How many differences were staged, by vnode, and how many of their keys are NULL or duplicate."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from airflow_refresh_provider.core.definition.columns import OP, VNODE
from airflow_refresh_provider.core.plan.plan import ChangeCounts, counts_by_vnode
from airflow_refresh_provider.ports.staging import StagedValues
from airflow_refresh_provider.ports.tasks import CompareTask, KeyReport
from airflow_refresh_provider.spark.acts import sql

Counts = tuple[dict[int, ChangeCounts], KeyReport]

_MOST_ROWS = 50_000
"""Up to this many rows are counted here, which saves a job with three stages."""
_EXACT = re.compile(r"tinyint|smallint|int|bigint|boolean|date|string|decimal\(\d+,\d+\)")
"""Types of which two values are equal in Spark where they are in Python."""


def counted(task: CompareTask, found: DataFrame, folder: str | None, files: StagedValues) -> Counts:
    """The counts of the differences in `found`; `folder` has these, where they are plain parquet files."""
    keys = sql.key_columns(task.target.columns, task.source.keys)
    rows = None
    if folder is not None and all(_EXACT.fullmatch(key.type) for key in keys):
        rows = files.values(folder, (VNODE, OP, *(key.name for key in keys)), _MOST_ROWS)
    return _by_spark(found, task.source.keys) if rows is None else _of(rows)


def _of(rows: list[tuple[Any, ...]]) -> Counts:
    keys = Counter((vnode, *key) for vnode, _, *key in rows)
    report = KeyReport(
        rows=0,
        null_keys=sum(count for key, count in keys.items() if None in key),
        duplicate_keys=sum(count > 1 for count in keys.values()),
    )
    return counts_by_vnode(Counter(row[:2] for row in rows)), report


def _by_spark(found: DataFrame, keys: tuple[str, ...]) -> Counts:
    no_key = " OR ".join(f"{sql.name(k)} IS NULL" for k in keys)
    of_key = F.expr(
        f"struct(count_if({OP} = 'I') AS i, count_if({OP} = 'U') AS u, count_if({OP} = 'D') AS d, "
        f"count_if({no_key}) AS no_key, IF(count(*) > 1, 1, 0) AS again)"
    ).alias(OP)
    by_key = found.groupBy(VNODE, *(F.col(sql.name(k)) for k in keys)).agg(of_key)
    sums = (F.sum(f"{OP}.{name}").alias(name) for name in ("i", "u", "d", "no_key", "again"))
    rows = by_key.groupBy(VNODE).agg(*sums).collect()
    counts = {r[VNODE]: ChangeCounts(inserted=r.i, updated=r.u, deleted=r.d) for r in rows}
    report = KeyReport(rows=0, null_keys=sum(r.no_key for r in rows), duplicate_keys=sum(r.again for r in rows))
    return counts, report
