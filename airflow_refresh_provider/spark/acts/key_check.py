"""Checking keys: the number of rows, of rows with NULL in the key, and of duplicate keys.

Rows are numbered within their key: sorting is cheaper than an aggregation with nearly as many groups as rows. A
duplicate key is counted by its second row.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StringType

from airflow_refresh_provider.core.definition.columns import OP, ROW_HASH, VNODE
from airflow_refresh_provider.ports.tasks import KeyReport
from airflow_refresh_provider.spark.acts import sql, value_text

_EXAMPLES = 3
_NO_KEY, _NUMBER, _PARTITION = OP, VNODE, ROW_HASH  # reserved names, which no column of a query can have
_REPEATED = f"{_NUMBER} = 2 AND NOT {_NO_KEY}"


def check(rows: DataFrame, keys: tuple[str, ...], partition_by: tuple[str, ...] = ()) -> KeyReport:
    """The report on some rows by their key columns, and about how many partitions they are for."""
    extra = (f"xxhash64({sql.names(partition_by)}) AS {_PARTITION}",) if partition_by else ()
    rows_by_key = numbered(rows, keys, extra)
    partitions = F.expr(f"approx_count_distinct({_PARTITION})") if partition_by else F.lit(0)
    all_rows = F.count(F.lit(1)).alias("all_rows")
    found = rows_by_key.agg(all_rows, *faults(), partitions.alias("partitions")).collect()[0]
    return KeyReport(
        rows=found.all_rows,
        null_keys=found.no_key,
        duplicate_keys=found.repeated,
        partitions=found.partitions,
        null_examples=examples(rows.where(_is_null(keys)), keys) if found.no_key else (),
        duplicate_examples=examples(rows_by_key.where(_REPEATED), keys) if found.repeated else (),
    )


def numbered(rows: DataFrame, keys: tuple[str, ...], extra: tuple[str, ...] = ()) -> DataFrame:
    """The keys of some rows, and more of their columns, each numbered within its key."""
    return rows.selectExpr(
        *(sql.name(k) for k in keys),
        f"{_is_null(keys)} AS {_NO_KEY}",
        f"row_number() OVER (PARTITION BY {sql.names(keys)} ORDER BY {sql.name(keys[0])}) AS {_NUMBER}",
        *extra,
    )


def faults() -> tuple[Column, Column]:
    """Of numbered rows: those with NULL in the key, and duplicate keys."""
    return F.expr(f"count_if({_NO_KEY}) AS no_key"), F.expr(f"count_if({_REPEATED}) AS repeated")


def _is_null(keys: tuple[str, ...]) -> str:
    return " OR ".join(f"{sql.name(k)} IS NULL" for k in keys)


def examples(rows: DataFrame, keys: tuple[str, ...]) -> tuple[str, ...]:
    """Some keys as text."""
    chosen = rows.selectExpr(*(sql.name(k) for k in keys)).limit(_EXAMPLES)
    kinds = [field.dataType for field in chosen.schema]
    shown = (f"{value_text.text(sql.name(k), kind)} AS {sql.name(k)}" for k, kind in zip(keys, kinds, strict=True))
    found = chosen.selectExpr(*shown).collect()
    return tuple(
        ", ".join(f"{k}={_shown(v, kind)}" for k, v, kind in zip(keys, row, kinds, strict=True)) for row in found
    )


def _shown(value: str | None, kind: DataType) -> str:
    if value is None:
        return "NULL"
    return repr(value) if isinstance(kind, StringType) else value
