"""Spark SQL as text: names, literals and hashes, quoted in one place.

Nothing is run here. Columns are named as in the target; `prefix` is the alias of their table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from airflow_refresh_provider.core.definition.columns import INTEGER_BITS, INTEGERS, Columns, visible
from airflow_refresh_provider.core.plan.plan import HashRange, PartitionValues
from airflow_refresh_provider.spark.acts.row_hash import hashed

LITERALS = INTEGERS | {"boolean", "string"}
"""Types for which Delta skips files correctly by literals; for dates of October 1582 it does not."""
_LONG_BITS = 64
"""Spark packs keys of integers into one long for a hash join, as many as fit."""


def name(text: str, prefix: str | None = None) -> str:
    """An identifier in backticks, after the alias of its table if given."""
    quoted = f"`{text.replace('`', '``')}`"
    return f"{prefix}.{quoted}" if prefix else quoted


def names(texts: Iterable[str], prefix: str | None = None) -> str:
    """Identifiers, separated by commas."""
    return ", ".join(name(text, prefix) for text in texts)


def table(location: str) -> str:
    """A Delta table by its path."""
    return f"delta.{name(location)}"


def text(value: str) -> str:
    """A string literal for exactly `value`."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
    return f"'{escaped}'"


def key_hash(keys: Columns, prefix: str | None = None) -> str:
    """The 64-bit hash of the key columns, each as the type it has in the target."""
    return f"xxhash64({values(keys, lambda column: name(column, prefix))})"


def values(columns: Columns, value: Callable[[str], str]) -> str:
    """The values of columns, each as the type it has in the target; `value` gives a column's by its name."""
    return ", ".join(f"CAST({value(c.name)} AS {c.type})" for c in columns)


def row_hash(columns: Columns, prefix: str | None = None) -> str:
    """A 64-bit hash of the visible columns."""
    return hashed((name(c.name, prefix), c.type) for c in visible(columns))


def row_hash_with(columns: Columns, taken: Columns, left: str, right: str) -> str:
    """The hash of a row of the left table with some of its columns taken from the right one."""
    return hashed((name(c.name, right if c in taken else left), c.type) for c in visible(columns))


def same_keys(keys: Columns, left: str, right: str) -> str:
    """The join on the key."""
    return " AND ".join(f"{name(k.name, left)} = {name(k.name, right)}" for k in keys)


def same_keys_by_hash(keys: Columns, left: str, right: str) -> str:
    """The join on the key for a broadcast side.

    A hash join on one long is faster than on several columns or a string, so keys are joined on their hash. The keys
    are compared as well, with BETWEEN, which Spark does not take for an equi-join key. Equal keys have equal hashes for
    every type that Delta has.
    """
    if sum(INTEGER_BITS.get(k.type, _LONG_BITS + 1) for k in keys) <= _LONG_BITS:
        return same_keys(keys, left, right)
    pairs = ((name(k.name, left), name(k.name, right)) for k in keys)
    same = (f"{one} BETWEEN {other} AND {other}" for one, other in pairs)
    return " AND ".join((f"{key_hash(keys, left)} = {key_hash(keys, right)}", *same))


def within(vnode_column: str, vnodes: tuple[int, ...], hashes: HashRange | None, keys: Columns, prefix: str) -> str:
    """The rows of a chunk among staged rows."""
    chosen = f"{vnode_column} IN ({', '.join(map(str, vnodes))})" if vnodes else "true"
    if hashes is None:
        return chosen
    return f"{chosen} AND {key_hash(keys, prefix)} BETWEEN {long(hashes.low)} AND {long(hashes.high)}"


def key_columns(columns: Columns, keys: tuple[str, ...]) -> Columns:
    """The key columns as the target has them, in key order."""
    by_name = {c.name.lower(): c for c in columns}
    return tuple(by_name[k.lower()] for k in keys)


def joined_keys(keys: Columns, prefix: str | None = None) -> str:
    """The key columns as one string, for a filter in addition to one on their hash."""
    return f"concat_ws('\u0001', {', '.join(f'CAST({name(k.name, prefix)} AS STRING)' for k in keys)})"


def literal(value: str, type_name: str) -> str:
    """A value, as text, of one of LITERALS, or a date."""
    match type_name:
        case "string":
            return text(value)
        case "bigint":
            return long(int(value))
        case "date":
            return f"DATE{text(value)}"
        case _:
            return f"CAST({value} AS {type_name})"


def in_partitions(columns: Columns, partitions: Iterable[PartitionValues]) -> str:
    """The rows of some partitions, with the same columns in the same order; those of one column are in one list."""
    by_rest: dict[tuple[tuple[str, str | None], ...], list[tuple[str, str | None]]] = {}
    for values in partitions:
        *rest, last = values.items()
        by_rest.setdefault(tuple(rest), []).append(last)
    types = {c.name: c.type for c in columns}
    return " OR ".join(
        f"({' AND '.join(_any_of(values, types) for values in (*([one] for one in rest), last))})"
        for rest, last in by_rest.items()
    )


def _any_of(values: list[tuple[str, str | None]], types: Mapping[str, str]) -> str:
    """That a column has one of these values."""
    column = values[0][0]
    known = ", ".join(literal(value, types[column]) for _, value in values if value is not None)
    listed = f"{name(column)} IN ({known})" if known else ""
    null = f"{name(column)} IS NULL" if any(value is None for _, value in values) else ""
    return f"({' OR '.join(filter(None, (listed, null)))})"


def long(value: int) -> str:
    """A bigint literal."""
    return "(-9223372036854775807L - 1L)" if value == -(1 << 63) else f"{value}L"
