"""Fields of columns that are structs: `s.x`, which is a column where no source is called `s`."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp
from sqlglot.errors import SqlglotError

ASSUMED = "?"
"""The type of a column that only the text of the query is known of: then equal types are assumed."""


def field_of(column: exp.Expr, names: Iterable[str]) -> exp.Expr:
    """A field of a column, through the fields above it."""
    for name in names:
        column = exp.Dot(this=column, expression=exp.to_identifier(name, quoted=True))
    return column


def field_type(struct: str | None, names: Iterable[str]) -> str | None:
    """The type of a field of a struct of this type; None where there is no such field, or it is not known."""
    for name in names:
        struct = ASSUMED if struct == ASSUMED else _fields(struct).get(name.lower())
    return struct


def as_written(kind: exp.DataType) -> str:
    """A type in the words of Spark's schemas."""
    return str(kind.sql("spark")).lower().replace(", ", ",")


def _fields(struct: str | None) -> dict[str, str]:
    """The fields of a struct, in lower case, with their types."""
    try:
        parsed = exp.DataType.build(struct or "", dialect="spark")
    except (SqlglotError, ValueError):
        return {}
    if not parsed.is_type(exp.DataType.Type.STRUCT):
        return {}
    fields = (part for part in parsed.expressions if isinstance(part, exp.ColumnDef) and part.kind is not None)
    return {part.name.lower(): as_written(part.kind) for part in fields if part.kind is not None}
