"""Literals and casts. Spark truncates where DuckDB rounds, and reads fewer texts as numbers, or more as dates."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from sqlglot import exp

from airflow_refresh_provider.testing.spark_sql.expressions import (
    Handler,
    Scope,
    call,
    cast,
    operand,
    shown,
    text,
    unless,
)
from airflow_refresh_provider.testing.spark_sql.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    INTEGERS,
    STRING,
    TIMES,
    TIMESTAMP,
    VOID,
    decimal,
    decimal_of,
    duckdb_type,
    unsupported,
)

_INTEGER_TEXT = r"[+-]?[0-9]+"
_NUMBER_TEXT = r"[+-]?[0-9]+(\.[0-9]+)?"
_DATE_TEXT = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME_TEXT = _DATE_TEXT + r"([ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?)?"
_MAX_INT = 2**31
_MAX_BIGINT = 2**63


def converted(node: exp.Expr, was: str, kind: str) -> exp.Expr:
    """A value of a type that Spark widens to another by itself."""
    if was == kind or (was != VOID and duckdb_type(was) == duckdb_type(kind)):
        return node
    if kind == DOUBLE and decimal_of(was):
        return cast(cast(node, STRING), kind)  # the nearest double, as Spark takes it
    return cast(node, kind)


def convert(node: exp.Expr, was: str, kind: str) -> None:
    """Convert a value at its place in the query."""
    node.replace(converted(node.copy(), was, kind))


def literal_time(node: exp.Expr, kind: str) -> exp.Expr | None:
    """A string literal as the date or timestamp that Spark reads in it; None where it is no literal or looks odd."""
    if not (isinstance(node, exp.Literal) and node.is_string):
        return None
    zoned = r"([+-][0-9]{2}:[0-9]{2})?" if kind == TIMESTAMP else ""
    if not re.fullmatch(_DATE_TEXT if kind == DATE else _TIME_TEXT + zoned, node.name):
        return None
    moment = datetime.fromisoformat(node.name)
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return cast(text(f"{moment:%Y-%m-%d}" if kind == DATE else moment.isoformat(" ")), kind)


def _literal(node: exp.Expr, _scope: Scope) -> tuple[exp.Expr, str]:
    written = node.name.lower()
    if node.is_string:
        return node, STRING
    if "e" in written:
        return cast(node, DOUBLE), DOUBLE
    if "." in written:
        whole, _, fraction = written.partition(".")
        digits = len((whole + fraction).lstrip("0"))
        kind = decimal(max(digits, len(fraction)), len(fraction))
        return cast(text(written), kind), kind
    return _integer(int(written))


def _integer(value: int) -> tuple[exp.Expr, str]:
    if not -_MAX_BIGINT <= value < _MAX_BIGINT:
        raise unsupported(f"the number {value}")
    kind = INT if -_MAX_INT <= value < _MAX_INT else BIGINT
    return cast(text(str(value)), kind), kind


def _negative(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    inner = node.this
    if isinstance(inner, exp.Literal) and inner.is_int:
        return _integer(-int(inner.name))
    kind = operand(node, "this", scope)
    if kind not in INTEGERS and kind != DOUBLE and not decimal_of(kind):
        raise unsupported(f"-({kind})")
    return node, kind


def _null(node: exp.Expr, _scope: Scope) -> tuple[exp.Expr, str]:
    return node, VOID


def _boolean(node: exp.Expr, _scope: Scope) -> tuple[exp.Expr, str]:
    return node, BOOLEAN


def _cast(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    kind = node.args["to"].sql("spark").lower().replace(" ", "")
    kind = {"decimal": "decimal(10,0)", "integer": INT, "long": BIGINT}.get(kind, kind)
    duckdb_type(kind)
    if node.args.get("format"):
        raise unsupported(shown(node))
    if node.args.get("safe"):
        return _try_cast(node, kind, scope)
    if kind in (DATE, *TIMES) and (moment := literal_time(node.this, kind)) is not None:
        return moment, kind
    what = shown(node)
    was = operand(node, "this", scope)
    return _explicit(node.this, was, kind, what), kind


def _try_cast(node: exp.Expr, kind: str, scope: Scope) -> tuple[exp.Expr, str]:
    """TRY_CAST to the same type, or of an integer to another one: NULL where it does not fit."""
    what, was = shown(node), operand(node, "this", scope)
    if was == kind:
        return node.this, kind
    if was in INTEGERS and kind in INTEGERS:
        return exp.TryCast(this=node.this, to=exp.DataType.build(duckdb_type(kind), dialect="duckdb")), kind
    raise unsupported(f"{what} (from {was})")


def _explicit(node: exp.Expr, was: str, kind: str, what: str) -> exp.Expr:
    """CAST as Spark does it. Raises Invalid for types between which the two differ too much."""
    if was in (kind, VOID):
        return cast(node, kind)
    if was == STRING:
        return _of_text(node, kind, what)
    number = was in INTEGERS or was == DOUBLE or decimal_of(was) is not None
    if number and kind in INTEGERS:
        return cast(node if was in INTEGERS else call("trunc", node), kind)
    if number and kind == DOUBLE:
        return converted(node, was, kind)
    if number and decimal_of(kind):
        return cast(cast(node, STRING) if was == DOUBLE else node, kind)
    times = (DATE, *TIMES)
    if (was in times and kind in times) or (kind == STRING and was != DOUBLE and was != "float" and was != "binary"):
        return cast(node, kind)
    if was == BOOLEAN and kind in INTEGERS:
        return cast(node, kind)
    raise unsupported(f"{what} (from {was})")


def _of_text(node: exp.Expr, kind: str, what: str) -> exp.Expr:
    """Text read as a value. Text that is not written in the plain way is an error; Spark may read more."""
    shapes = {DATE: _DATE_TEXT, DOUBLE: _NUMBER_TEXT} | dict.fromkeys(TIMES, _TIME_TEXT)
    shapes |= dict.fromkeys(INTEGERS, _INTEGER_TEXT)
    shape = _NUMBER_TEXT if decimal_of(kind) else shapes.get(kind)
    if shape is None:
        raise unsupported(f"{what} (from string)")
    odd = exp.Not(this=call("regexp_full_match", node.copy(), text(shape)))
    return unless(odd, f"the in-memory engine does not support {what} of text not like {shape}", cast(node, kind))


CASTS: dict[type[exp.Expr], Handler] = {
    exp.Literal: _literal,
    exp.Neg: _negative,
    exp.Null: _null,
    exp.Boolean: _boolean,
    exp.Cast: _cast,
    exp.TryCast: _cast,
}
