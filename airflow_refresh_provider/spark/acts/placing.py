"""The vnode of a row of a change set, as SQL."""

from __future__ import annotations

from collections.abc import Callable

from airflow_refresh_provider.core.plan.placing import partition_columns, parts_of_partition
from airflow_refresh_provider.core.plan.plan import Target
from airflow_refresh_provider.spark.acts import sql

Value = Callable[[str], str]
"""The name of a column of the target -> its value in the row, as SQL."""


def vnode(target: Target, keys: tuple[str, ...], value: Value = sql.name) -> str:
    """By the key; in a partitioned target of layout plain by the partition, and for its parts by the key."""
    parts, vnodes = parts_of_partition(target), target.vnodes
    by_key = f"xxhash64({_values(target, keys, value)})"
    if parts is None:
        return f"CAST(pmod({by_key}, {vnodes}L) AS INT)"
    first = f"pmod(xxhash64({_values(target, partition_columns(target), value)}), {vnodes}L)"
    if parts == 1:
        return f"CAST({first} AS INT)"
    return f"CAST(pmod({first} + pmod({by_key}, {parts}L) * {vnodes // parts}L, {vnodes}L) AS INT)"


def columns_beside_key(target: Target, keys: tuple[str, ...]) -> tuple[str, ...]:
    """The columns that decide on the vnode and are not in the key."""
    known = {key.lower() for key in keys}
    decisive = () if parts_of_partition(target) is None else partition_columns(target)
    return tuple(name for name in decisive if name.lower() not in known)


def _values(target: Target, names: tuple[str, ...], value: Value) -> str:
    return sql.values(sql.key_columns(target.columns, names), value)
