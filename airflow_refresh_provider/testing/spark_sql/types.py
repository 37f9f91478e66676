"""Types of Spark that the in-memory engine supports: their names in DuckDB, and the common type of two of them.

Types are Spark DDL words, as everywhere ("bigint", "decimal(15,2)"). "void" is the type of NULL.
"""

from __future__ import annotations

import re

from airflow_refresh_provider.errors import Invalid

INTEGERS = ("tinyint", "smallint", "int", "bigint")
"""From narrow to wide."""
STRING, BOOLEAN, DATE, TIMESTAMP, TIMESTAMP_NTZ = "string", "boolean", "date", "timestamp", "timestamp_ntz"
INT, BIGINT, DOUBLE, VOID = "int", "bigint", "double", "void"
TIMES = (TIMESTAMP, TIMESTAMP_NTZ)

_MAX_PRECISION = 38
_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
# Timestamps have no zone in DuckDB: they are UTC, as in every session of a refresh.
_IN_DUCKDB = {
    "tinyint": "TINYINT", "smallint": "SMALLINT", "int": "INTEGER", "bigint": "BIGINT", "float": "FLOAT",
    "double": "DOUBLE", "string": "VARCHAR", "boolean": "BOOLEAN", "date": "DATE", "timestamp": "TIMESTAMP",
    "timestamp_ntz": "TIMESTAMP", "binary": "BLOB", "void": "INTEGER",
}  # fmt: skip


def unsupported(what: str) -> Invalid:
    """The error for what the in-memory engine cannot evaluate exactly as Spark does."""
    return Invalid(
        "query_unsupported_in_memory",
        f"the in-memory engine does not support {what}",
        next="Test this query on Spark, or write that part of it in another way.",
    )


def duckdb_type(kind: str) -> str:
    """DuckDB's name of a type. Raises Invalid for a type that is not supported."""
    if decimal_of(kind):
        return kind.upper()
    try:
        return _IN_DUCKDB[kind]
    except KeyError:
        raise unsupported(f"the type {kind}") from None


def decimal_of(kind: str) -> tuple[int, int] | None:
    """Precision and scale of a decimal, None for another type."""
    found = _DECIMAL.fullmatch(kind)
    return (int(found[1]), int(found[2])) if found else None


def as_decimal(kind: str) -> tuple[int, int] | None:
    """Precision and scale of the decimal that holds every value of a decimal or integer type."""
    return (_DIGITS[kind], 0) if kind in _DIGITS else decimal_of(kind)


def decimal(precision: int, scale: int) -> str:
    """A decimal type. Raises Invalid where Spark would have to cut digits off."""
    if precision > _MAX_PRECISION:
        raise unsupported(f"decimals of more than {_MAX_PRECISION} digits")
    return f"decimal({precision},{scale})"


def bounded(precision: int, scale: int) -> str:
    """A decimal type of as many digits as there may be."""
    return decimal(min(precision, _MAX_PRECISION), scale)


def is_number(kind: str) -> bool:
    """Whether one can calculate with values of the type."""
    return kind in INTEGERS or kind == DOUBLE or decimal_of(kind) is not None


def common(*kinds: str) -> str:
    """The type to which Spark widens values of these types. Raises Invalid where that is not sure."""
    found = VOID
    for kind in kinds:
        found = _common(found, kind)
    return found


def _common(left: str, right: str) -> str:
    kinds = {left, right} - {VOID}
    if len(kinds) < 2:
        return kinds.pop() if kinds else VOID
    if kinds <= set(INTEGERS):
        return max(kinds, key=INTEGERS.index)
    if kinds == {DATE, TIMESTAMP}:
        return TIMESTAMP
    if all(map(is_number, kinds)):
        one, other = as_decimal(left), as_decimal(right)
        if one is None or other is None:
            return DOUBLE
        scale = max(one[1], other[1])
        return decimal(max(one[0] - one[1], other[0] - other[1]) + scale, scale)
    raise unsupported(f"{left} and {right} as one type: cast one of them")
