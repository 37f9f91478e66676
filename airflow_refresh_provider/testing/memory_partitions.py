"""Whole partitions in memory: which ones values name, and how many rows each has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from airflow_refresh_provider.core.plan.plan import PartitionValues, Target
from airflow_refresh_provider.core.plan.replacing import PartitionRows
from airflow_refresh_provider.ports.tasks import Touched
from airflow_refresh_provider.testing.memory_rows import key_of, vnode_of
from airflow_refresh_provider.testing.memory_table import Row, Rows

Values = tuple[object, ...]


def anchor_columns(target: Target, touched: Touched) -> tuple[str, ...]:
    """The columns of touched values, as the target names them."""
    names = {c.name.lower(): c.name for c in target.columns}
    return tuple(names[anchor.lower()] for anchor in touched.maintenance.anchors)


def placed_by(target: Target, columns: tuple[str, ...]) -> Target:
    """The target with each value of some columns in one vnode."""
    return target.model_copy(update={"partition_by": columns, "partitions": target.vnodes})


def rows_of(
    values: Iterable[Values], rows: Rows, target: Target, columns: tuple[str, ...]
) -> tuple[PartitionRows, ...]:
    """The number of rows with each of these values of the columns, and its vnode."""
    counts = Counter(key_of(row, columns) for row in rows)
    found = ((dict(zip(columns, value, strict=True)), counts[value]) for value in sorted(values, key=repr))
    return tuple(
        PartitionRows(values=named(row), rows=rows_there, vnode=vnode_of(row, columns, target.vnodes))
        for row, rows_there in found
    )


def named(values: Row) -> PartitionValues:
    """A partition by the text of its values."""
    return {name: None if value is None else str(value) for name, value in values.items()}
