"""Columns of results and targets: names, Spark types, and what a difference between the two means.

Types are Spark DDL words as `simpleString` gives them ("bigint", "decimal(15,2)", "struct<a:int>"). Names are compared
without case, as Spark does.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from airflow_refresh_provider.core.text.stored import Stored
from airflow_refresh_provider.errors import Invalid, Refused

VNODE = "_vnode"
ROW_HASH = "_row_hash"
OP = "_op"
HIDDEN = (VNODE, ROW_HASH)
RESERVED = frozenset({VNODE, ROW_HASH, OP})

DOUBTFUL = "?"
"""In a change set, beside I, U and D: a key without a value, or one of which a window leaves more than one row."""

INTEGER_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
INTEGERS = frozenset(INTEGER_BITS)

_QUOTED = re.compile(r"`(?:[^`]|``)*`")
_UNFIT = re.compile(r"\b(?:map|variant)\b")
"""Types whose values do not compare."""
_FLOATING = re.compile(r"\b(?:double|float)\b", re.IGNORECASE)
_PADDED = re.compile(r"\bchar\(", re.IGNORECASE)


class Column(Stored):
    """One column: its name as written and its Spark type."""

    name: str
    type: str


Columns = tuple[Column, ...]


def visible(columns: Columns) -> Columns:
    """The columns a reader of a target is meant to see."""
    return tuple(c for c in columns if c.name.lower() not in RESERVED)


def check_result(result: Columns, keys: tuple[str, ...]) -> None:
    """Refuse results with reserved or repeated names, or missing or incomparable keys. Raises Invalid."""
    names = [c.name.lower() for c in result]
    if taken := [c.name for c in result if c.name.lower() in RESERVED]:
        raise Invalid(
            "reserved_column",
            f"the query's result has the reserved column {taken[0]}",
            next="Give the column another name in the query (AS ...).",
        )
    check_distinct(names)
    if missing := [k for k in keys if k.lower() not in names]:
        raise Invalid(
            "key_not_in_result",
            f"keys {', '.join(missing)} are not columns of the query's result ({', '.join(c.name for c in result)})",
            next="Select the key columns in the query, or correct `keys`.",
        )
    wanted = {k.lower() for k in keys}
    if unfit := [c for c in result if c.name.lower() in wanted and _UNFIT.search(_QUOTED.sub("", c.type))]:
        column = unfit[0]
        raise Invalid(
            "key_type",
            f"the key {column.name} has the type {column.type}, which cannot be compared",
            next="Cast it in the query, such as CAST(... AS STRING), or take other keys.",
        )


def check_distinct(names: Iterable[str]) -> None:
    """Refuse a result in which a name occurs twice. Raises Invalid."""
    counts = Counter(name.lower() for name in names)
    if repeated := sorted(name for name, count in counts.items() if count > 1):
        raise Invalid(
            "duplicate_column",
            f"the query's result has more than one column named {', '.join(repeated)}",
            next="Give each column of the result its own name (AS ...).",
        )


def check_partitions(result: Columns, partition_by: tuple[str, ...]) -> None:
    """Refuse binary partition columns: partition values are stored as text, which changes them. Raises Invalid."""
    parted = {name.lower() for name in partition_by}
    if unfit := [c.name for c in result if c.name.lower() in parted and c.type.lower() == "binary"]:
        raise Invalid(
            "partition_type",
            f"the column {unfit[0]}, which the target is partitioned by, is binary",
            next="Convert it to text in the query, such as with hex(...), or partition by another column.",
        )


def check_known(result: tuple[str, ...] | None, fields: Mapping[str, Iterable[str]]) -> None:
    """Refuse fields that name a column that is not among these; None: they are not known. Raises Invalid."""
    if result is None:
        return
    known = {name.lower() for name in result}
    wrong = [(field, name) for field, names in fields.items() for name in names if name.lower() not in known]
    if wrong:
        columns = ", ".join(result)
        raise Invalid(
            "key_not_in_result" if wrong[0][0] == "keys" else "definition_invalid",
            "\n".join(f"{field}: {name} is not a column of the query's result ({columns})" for field, name in wrong),
            next="Select these columns in the query, or correct the fields.",
        )


def floating_columns(columns: Columns) -> tuple[str, ...]:
    """The names of the visible columns that are or hold DOUBLE or FLOAT."""
    return tuple(c.name for c in visible(columns) if floating(c.type))


def floating(kind: str) -> bool:
    """Whether a type is or holds DOUBLE or FLOAT."""
    return _FLOATING.search(_QUOTED.sub("", kind)) is not None


def padded(kind: str) -> bool:
    """Whether a type is or holds text that Spark pads with blanks when it reads it: CHAR, not VARCHAR."""
    return _PADDED.search(_QUOTED.sub("", kind)) is not None


def check_padding(columns: tuple[str, ...], target: str) -> None:
    """Refuse a target some of whose columns are padded: what is read never equals what was written. Raises Refused."""
    if columns:
        raise Refused(
            "padded_column",
            f"the target {target} has CHAR columns ({', '.join(columns)}), whose values Spark pads when it reads them, "
            "so that they never equal those of the query",
            next="Make them text of any length, such as "
            f"`ALTER TABLE delta.`{target}` ALTER COLUMN {columns[0]} TYPE STRING` in Spark.",
        )
