"""The condition that a row has one of the changed keys, as text with every key in it.

Delta passes over files, and Parquet over pages, by literals of single columns only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pyspark.sql import DataFrame

from airflow_refresh_provider.core.definition.columns import INTEGERS, VNODE, Column, Columns
from airflow_refresh_provider.core.plan.choice import LITERAL_KEYS
from airflow_refresh_provider.ports.staging import StagedValues
from airflow_refresh_provider.ports.tasks import ApplyTask
from airflow_refresh_provider.spark.acts import sql

_FEW_VALUES = 32
"""Up to so many values of a list, pages of Parquet are passed over by each (a setting of our sessions)."""
_BETWEEN = "\u0001"
"""What `sql.joined_keys` has between two keys."""
_Values = Sequence[tuple[Any, ...]]


def condition(chunk: DataFrame, task: ApplyTask, files: StagedValues) -> str | None:
    """The condition for the keys of a chunk, None where there are none."""
    keys = sql.key_columns(task.target.columns, task.source.keys)
    known = tuple(k for k in keys if k.type in sql.LITERALS)
    found = _by_client(task, keys, files) if known == keys else None
    if known == keys and len(keys) == 1:
        found = found if found is not None else chunk.selectExpr(sql.name(keys[0].name)).collect()
        return _in(keys[0], (row[0] for row in found)) if found else None
    if found is not None and _narrow(keys, found):
        return f"{_within(keys, found)} AND {sql.joined_keys(keys)} IN ({', '.join(map(_text, found))})"
    return _with_hashes(chunk, keys, known)


def _by_client(task: ApplyTask, keys: Columns, files: StagedValues) -> _Values | None:
    """The keys of the chunk, read without Spark; None where it has to read them."""
    assert task.changes is not None
    if task.changes.version is not None or task.chunk.keys is not None:
        return None
    rows = files.values(task.changes.location, (VNODE, *(k.name for k in keys)), LITERAL_KEYS)
    return None if rows is None else [row[1:] for row in rows if not task.chunk.vnodes or row[0] in task.chunk.vnodes]


def _with_hashes(chunk: DataFrame, keys: Columns, known: Columns) -> str | None:
    """Hashes of all keys make the condition fast; the keys as text exclude rows with equal hashes."""
    of_hash, exact = sql.key_hash(keys), sql.joined_keys(keys)
    found = chunk.selectExpr(of_hash, exact, *(sql.name(k.name) for k in known)).collect()
    if not found:
        return None
    hashes, texts = ", ".join(sql.long(row[0]) for row in found), ", ".join(sql.text(row[1]) for row in found)
    narrow = _within(known, [row[2:] for row in found])
    return " AND ".join(filter(None, (narrow, f"{of_hash} IN ({hashes})", f"{exact} IN ({texts})")))


def _narrow(keys: Columns, rows: _Values) -> bool:
    """Whether there are few values of one of the columns, and no two keys have the same text."""
    few = any(len({row[n] for row in rows}) <= _FEW_VALUES for n in range(len(keys)))
    return bool(rows) and few and not any(_BETWEEN in str(value) for row in rows for value in row)


def _within(columns: Columns, rows: _Values) -> str:
    """That each column has one of its values, where these are few; numbers lie between the ends of many."""
    conditions = []
    for n, column in enumerate(columns):
        values = sorted({row[n] for row in rows})
        if len(values) <= _FEW_VALUES:
            conditions.append(_in(column, values))
        elif column.type in INTEGERS:
            low, high = (sql.literal(str(value), column.type) for value in (values[0], values[-1]))
            conditions.append(f"{sql.name(column.name)} BETWEEN {low} AND {high}")
    return " AND ".join(conditions)


def _in(column: Column, values: Iterable[Any]) -> str:
    literals = ", ".join(sql.literal(str(value), column.type) for value in values)
    return f"{sql.name(column.name)} IN ({literals})"


def _text(key: tuple[Any, ...]) -> str:
    """A key as `sql.joined_keys` has it."""
    return sql.text(_BETWEEN.join(str(value).lower() if isinstance(value, bool) else str(value) for value in key))
