"""Values as text in Spark's own format, where pyspark's conversion depends on the client or fails.

pyspark converts timestamps to the time zone of the client, and supports neither the year 10000 nor, in some zones, the
day before it. So values are cast to text in the session, whose time zone is UTC, before they are collected.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DateType,
    MapType,
    StructType,
    TimestampNTZType,
    TimestampType,
    VariantType,
)

from airflow_refresh_provider.spark.acts import sql

_Leaf = Callable[[str, DataType], str]
"""Rewrites the expression of a value that is not nested, by its type."""


def value(expression: str, kind: DataType) -> str:
    """The value with timestamps and dates as ISO 8601 text at any depth; variants are JSON."""
    return _rewritten(expression, kind, _timeless)


def text(expression: str, kind: DataType) -> str:
    """The value as one string, binary values in hexadecimal digits."""
    return f"CAST({_rewritten(expression, kind, _without_bytes)} AS STRING)"


def _timeless(expression: str, kind: DataType) -> str:
    as_text = f"CAST({expression} AS STRING)"
    match kind:
        case TimestampType():
            return f"concat(replace({as_text}, ' ', 'T'), 'Z')"
        case TimestampNTZType():
            return f"replace({as_text}, ' ', 'T')"
        case DateType():
            return as_text
        case VariantType():
            return f"to_json({expression})"
        case _:
            return expression


def _without_bytes(expression: str, kind: DataType) -> str:
    return f"lower(hex({expression}))" if isinstance(kind, BinaryType) else expression


def _rewritten(expression: str, kind: DataType, leaf: _Leaf, depth: int = 0) -> str:
    """The expression with every leaf rewritten; itself where there is nothing to rewrite."""
    key, item = f"k{depth}", f"x{depth}"
    match kind:
        case StructType():
            fields = [(f.name, f"{expression}.{sql.name(f.name)}", f.dataType) for f in kind.fields]
            inner = [(name, old, _rewritten(old, of, leaf, depth)) for name, old, of in fields]
            if all(old == new for _, old, new in inner):
                return expression
            pairs = ", ".join(f"{sql.text(name)}, {new}" for name, _, new in inner)
            return f"IF({expression} IS NULL, NULL, named_struct({pairs}))"
        case ArrayType():
            new = _rewritten(item, kind.elementType, leaf, depth + 1)
            return expression if new == item else f"transform({expression}, {item} -> {new})"
        case MapType():
            new = _rewritten(key, kind.keyType, leaf, depth + 1)
            keyed = expression if new == key else f"transform_keys({expression}, ({key}, {item}) -> {new})"
            new = _rewritten(item, kind.valueType, leaf, depth + 1)
            return keyed if new == item else f"transform_values({keyed}, ({key}, {item}) -> {new})"
        case _:
            return leaf(expression, kind)
