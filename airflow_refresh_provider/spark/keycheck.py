"""Checking keys: how many rows, how many of them without a key, and which keys repeat.

Counting distinct hashes is enough to know that keys are unique; only when a hash repeats are the keys grouped.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from airflow_refresh_provider.core.columns import Column
from airflow_refresh_provider.ports.engine import KeyReport
from airflow_refresh_provider.spark import sql

_EXAMPLES = 3


def check(rows: DataFrame, keys: tuple[str, ...]) -> KeyReport:
    """The report on some rows by their key columns."""
    types = {f.name.lower(): f.dataType.simpleString() for f in rows.schema.fields}
    columns = tuple(Column(name=k, type=types[k.lower()]) for k in keys)
    no_key = " OR ".join(f"{sql.name(k)} IS NULL" for k in keys)
    found = rows.selectExpr(
        "count(*) AS all_rows",
        f"count_if({no_key}) AS no_key",
        f"count(DISTINCT {sql.key_hash(columns)}) AS hashes",
    ).collect()[0]
    if not found.no_key and found.hashes == found.all_rows:
        return KeyReport(rows=found.all_rows)
    repeated = rows.where(f"NOT ({no_key})").groupBy(*(F.col(sql.name(k)) for k in keys)).count().where("count > 1")
    duplicates = repeated.count()
    return KeyReport(
        rows=found.all_rows,
        null_keys=found.no_key,
        duplicate_keys=duplicates,
        null_examples=_examples(rows.where(no_key), keys),
        duplicate_examples=_examples(repeated, keys) if duplicates else (),
    )


def _examples(rows: DataFrame, keys: tuple[str, ...]) -> tuple[str, ...]:
    found = rows.selectExpr(*(sql.name(k) for k in keys)).limit(_EXAMPLES).collect()
    return tuple(", ".join(f"{k}={_shown(v)}" for k, v in zip(keys, row, strict=True)) for row in found)


def _shown(value: object) -> str:
    """A key value as a person would write it."""
    if value is None:
        return "NULL"
    return repr(value) if isinstance(value, str) else str(value)
