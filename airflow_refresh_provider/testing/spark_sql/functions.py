"""Functions of one row: of text, numbers, dates and choices between values."""

from __future__ import annotations

from sqlglot import exp

from airflow_refresh_provider.testing.spark_sql.casts import literal_time
from airflow_refresh_provider.testing.spark_sql.expressions import (
    Handler,
    Scope,
    call,
    cast,
    operand,
    operands,
    shown,
    text,
)
from airflow_refresh_provider.testing.spark_sql.operators import same_type
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
    bounded,
    decimal_of,
    is_number,
    unsupported,
)

_OF_DATE: dict[type[exp.Expr], str] = {
    exp.Year: "year", exp.Month: "month", exp.Day: "day", exp.DayOfMonth: "day", exp.Quarter: "quarter",
    exp.DayOfYear: "dayofyear", exp.WeekOfYear: "weekofyear", exp.Hour: "hour", exp.Minute: "minute",
    exp.Second: "second",
}  # fmt: skip
_EXTRACTED = frozenset({"YEAR", "MONTH", "DAY", "QUARTER", "HOUR", "MINUTE"})
_TRUNCATED = frozenset({"YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND"})
_TRUNCATED_DATES = {
    "YEAR": "year", "YYYY": "year", "YY": "year", "QUARTER": "quarter", "MONTH": "month", "MON": "month",
    "MM": "month", "WEEK": "week",
}  # fmt: skip
_TEXT: dict[type[exp.Expr], tuple[str, str]] = {
    exp.Upper: ("upper", STRING), exp.Lower: ("lower", STRING), exp.Length: ("length", INT), exp.MD5: ("md5", STRING),
    exp.StartsWith: ("starts_with", BOOLEAN), exp.EndsWith: ("ends_with", BOOLEAN), exp.Contains: ("contains", BOOLEAN),
    exp.Replace: ("replace", STRING),
}  # fmt: skip


def _of_text(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    name, kind = _TEXT[type(node)]
    what = shown(node)
    parts = [part for part in ("this", "expression", "replacement") if node.args.get(part) is not None]
    if any(operand(node, part, scope) != STRING for part in parts):
        raise unsupported(f"{what} of what is not a string")
    if type(node) is exp.Replace and not node.text("expression"):
        raise unsupported(f"{what}: what is replaced must be a literal")
    return cast(call(name, *(node.args[part] for part in parts)), kind), kind


def _trim(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    if node.args.get("expression") is not None or operand(node, "this", scope) != STRING:
        raise unsupported(shown(node))
    name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position") or "").upper(), "trim")
    return call(name, node.this, text(" ")), STRING


def _substring(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    what = shown(node)
    start, length = node.args.get("start"), node.args.get("length")
    ends = [end for end in (start, length) if end is not None]
    if not all(isinstance(end, exp.Literal) and end.is_int for end in ends) or start is None or start.name == "0":
        raise unsupported(f"{what}: start and length must be literals, from 1 on")
    if operand(node, "this", scope) != STRING:
        raise unsupported(f"{what} of what is not a string")
    return call("substring", node.this, *ends), STRING


def _end_of_text(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    size = node.expression
    if not (isinstance(size, exp.Literal) and size.is_int) or operand(node, "this", scope) != STRING:
        raise unsupported(shown(node))
    return call("left" if isinstance(node, exp.Left) else "right", node.this, size), STRING


def _concat(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    """NULL as soon as one part is NULL, as `||` is in both."""
    what = shown(node)
    parts = [node.this, node.expression] if isinstance(node, exp.DPipe) else node.expressions
    kinds = operands(node, scope) if isinstance(node, exp.Concat) else [operand(node, p, scope) for p in _SIDES]
    if set(kinds) != {STRING}:
        raise unsupported(f"{what} of {', '.join(kinds)}: cast them to string")
    parts = [node.this, node.expression] if isinstance(node, exp.DPipe) else node.expressions
    joined = parts[0]
    for part in parts[1:]:
        joined = exp.DPipe(this=joined, expression=part)
    return exp.Paren(this=joined), STRING


_SIDES = ("this", "expression")


def _concat_ws(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    what = shown(node)
    if set(operands(node, scope)) != {STRING}:
        raise unsupported(f"{what} of what is not strings")
    return call("concat_ws", *node.expressions), STRING


def _abs(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    kind = operand(node, "this", scope)
    if not is_number(kind):
        raise unsupported(f"{shown(node)} of {kind}")
    return cast(node, kind), kind


def _round(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    what = shown(node)
    digits = node.args.get("decimals")
    if digits is not None and not (isinstance(digits, exp.Literal) and digits.is_int):
        raise unsupported(f"{what}: the number of digits must be a literal")
    kind = operand(node, "this", scope)
    if kind in INTEGERS:
        return node.this, kind
    found = decimal_of(kind)
    if found is None:
        raise unsupported(f"{what} of {kind}: cast it to a decimal")
    scale = min(found[1], int(digits.name) if digits is not None else 0)
    rounded = bounded(found[0] - found[1] + 1 + scale, scale)
    return cast(call("round", node.this, exp.Literal.number(scale)), rounded), rounded


def _whole(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    """FLOOR and CEIL."""
    what = shown(node)
    if node.args.get("decimals") is not None or node.args.get("to") is not None:
        raise unsupported(what)
    was = operand(node, "this", scope)
    found = decimal_of(was)
    if not is_number(was):
        raise unsupported(f"{what} of {was}")
    kind = BIGINT if found is None else was if found[1] == 0 else bounded(found[0] - found[1] + 1, 0)
    return cast(call("floor" if isinstance(node, exp.Floor) else "ceil", node.this), kind), kind


def _sqrt(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    if operand(node, "this", scope) != DOUBLE:
        raise unsupported(f"{shown(node)} of what is not a double")
    return node, DOUBLE


def _chosen(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    """COALESCE, GREATEST, LEAST: one of several values."""
    kind = same_type([node.this, *node.expressions], scope)
    names: dict[type[exp.Expr], str] = {exp.Coalesce: "coalesce", exp.Greatest: "greatest", exp.Least: "least"}
    return call(names[type(node)], node.this, *node.expressions), kind


def _nullif(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    what = shown(node)
    kind = operand(node, "this", scope)
    if operand(node, "expression", scope) != kind:
        raise unsupported(f"{what} of different types")
    return node, kind


def _to_date(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    """DATE(x), and the date that Spark takes of the operand of many a function."""
    if node.args.get("format") is not None:
        raise unsupported(shown(node))
    if (moment := literal_time(node.this, DATE)) is not None:
        return moment, DATE
    kind = operand(node, "this", scope)
    if kind not in (DATE, *TIMES):
        raise unsupported(f"{shown(node)} of {kind}")
    return cast(node.this, DATE), DATE


def _date_part(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    what = shown(node)
    needed = TIMES if isinstance(node, exp.Hour | exp.Minute | exp.Second) else (DATE, *TIMES)
    if (kind := operand(node, "this", scope)) not in needed:
        raise unsupported(f"{what} of {kind}")
    return cast(call(_OF_DATE[type(node)], node.this), INT), INT


def _day_of_week(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    """1 on Sundays; DuckDB begins with 0."""
    operand(node, "this", scope)
    return cast(exp.Paren(this=exp.Add(this=call("dayofweek", node.this), expression=exp.Literal.number(1))), INT), INT


def _extract(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    what = shown(node)
    kind = operand(node, "expression", scope)
    part = node.name.upper()
    if part not in _EXTRACTED or kind not in (TIMES if part in ("HOUR", "MINUTE") else (DATE, *TIMES)):
        raise unsupported(f"{what} of {kind}")
    return cast(call(part.lower(), node.expression), INT), INT


def _timestamp_trunc(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    what = shown(node)
    unit = node.text("unit").upper()
    kind = operand(node, "this", scope)
    if unit not in _TRUNCATED or kind not in (DATE, *TIMES):
        raise unsupported(f"{what} of {kind}")
    return cast(call("date_trunc", text(unit.lower()), node.this), TIMESTAMP), TIMESTAMP


def _date_trunc(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    what = shown(node)
    unit = _TRUNCATED_DATES.get(node.text("unit").upper())
    kind = operand(node, "this", scope)
    if unit is None or kind not in (DATE, *TIMES):
        raise unsupported(f"{what} of {kind}")
    return cast(call("date_trunc", text(unit), node.this), DATE), DATE


def _days_added(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    """DATE_ADD and DATE_SUB, which the parser takes for adding days times -1, and ADD_MONTHS."""
    what = shown(node)
    kinds = [operand(node, part, scope) for part in _SIDES]
    months = isinstance(node, exp.AddMonths)
    if kinds[0] not in (DATE, *TIMES) or kinds[1] not in INTEGERS[:3] or (not months and node.text("unit") != "DAY"):
        raise unsupported(f"{what} of {kinds[0]} and {kinds[1]}")
    interval = call("to_months" if months else "to_days", node.expression)
    return cast(exp.Paren(this=exp.Add(this=cast(node.this, DATE), expression=interval)), DATE), DATE


def _date_diff(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    what = shown(node)
    kinds = {operand(node, part, scope) for part in _SIDES}
    if kinds != {DATE} or node.args.get("unit") is not None:
        raise unsupported(f"{what} of {', '.join(sorted(kinds))}")
    return cast(call("date_diff", text("day"), node.expression, node.this), INT), INT


def _last_day(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    if (kind := operand(node, "this", scope)) not in (DATE, *TIMES):
        raise unsupported(f"{shown(node)} of {kind}")
    return cast(call("last_day", node.this), DATE), DATE


FUNCTIONS: dict[type[exp.Expr], Handler] = {
    **dict.fromkeys(_TEXT, _of_text),
    exp.Trim: _trim,
    exp.Substring: _substring,
    **dict.fromkeys((exp.Left, exp.Right), _end_of_text),
    **dict.fromkeys((exp.Concat, exp.DPipe), _concat),
    exp.ConcatWs: _concat_ws,
    exp.Abs: _abs,
    exp.Round: _round,
    **dict.fromkeys((exp.Floor, exp.Ceil), _whole),
    exp.Sqrt: _sqrt,
    **dict.fromkeys((exp.Coalesce, exp.Greatest, exp.Least), _chosen),
    exp.Nullif: _nullif,
    exp.TsOrDsToDate: _to_date,
    **dict.fromkeys(_OF_DATE, _date_part),
    exp.DayOfWeek: _day_of_week,
    exp.Extract: _extract,
    exp.TimestampTrunc: _timestamp_trunc,
    exp.DateTrunc: _date_trunc,
    **dict.fromkeys((exp.TsOrDsAdd, exp.AddMonths), _days_added),
    exp.DateDiff: _date_diff,
    exp.LastDay: _last_day,
}
