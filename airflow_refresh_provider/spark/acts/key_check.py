"""Checking keys: the number of rows, of rows with NULL in the key, and of duplicate keys.

Rows are numbered within their key: sorting is cheaper than an aggregation with nearly as many groups as rows. A
duplicate key is counted by its second row.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.types import DataType, StringType

from airflow_refresh_provider.core.definition.columns import OP, ROW_HASH, VNODE
from airflow_refresh_provider.ports.engine import KeyReport
from airflow_refresh_provider.spark.acts import sql, value_text

_EXAMPLES = 3
_NO_KEY, _NUMBER, _PARTITION = OP, VNODE, ROW_HASH  # reserved names, which no column of a query can have


def check(rows: DataFrame, keys: tuple[str, ...], partition_by: tuple[str, ...] = ()) -> KeyReport:
    """The report on some rows by their key columns, and about how many partitions they are for."""
    no_key = " OR ".join(f"{sql.name(k)} IS NULL" for k in keys)
    numbered = rows.selectExpr(
        *(sql.name(k) for k in keys),
        f"{no_key} AS {_NO_KEY}",
        f"row_number() OVER (PARTITION BY {sql.names(keys)} ORDER BY {sql.name(keys[0])}) AS {_NUMBER}",
        *([f"xxhash64({sql.names(partition_by)}) AS {_PARTITION}"] if partition_by else ()),
    )
    second = f"{_NUMBER} = 2 AND NOT {_NO_KEY}"
    found = numbered.selectExpr(
        "count(*) AS all_rows",
        f"count_if({_NO_KEY}) AS no_key",
        f"count_if({second}) AS repeated",
        f"{f'approx_count_distinct({_PARTITION})' if partition_by else 0} AS partitions",
    ).collect()[0]
    return KeyReport(
        rows=found.all_rows,
        null_keys=found.no_key,
        duplicate_keys=found.repeated,
        partitions=found.partitions,
        null_examples=examples(rows.where(no_key), keys) if found.no_key else (),
        duplicate_examples=examples(numbered.where(second), keys) if found.repeated else (),
    )


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
