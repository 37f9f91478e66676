"""Values that all affected rows have, as expressions over a changed row and the rows that it is joined with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

CHANGED = "h0"
"""The alias of the changed row."""

_TRANSPARENT = (
    exp.Cast, exp.TryCast, exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Coalesce,
    exp.Upper, exp.Lower, exp.Trim, exp.Case, exp.If, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.And,
    exp.Or, exp.Not, exp.Is, exp.Year, exp.Month, exp.Day, exp.DateTrunc, exp.TimestampTrunc, exp.TsOrDsToDate,
    exp.Date, exp.Between, exp.In, exp.Substring, exp.Concat, exp.DPipe, exp.Abs, exp.Quarter, exp.DateAdd,
    exp.DateSub, exp.TsOrDsAdd, exp.Literal, exp.Boolean, exp.Null, exp.DataType, exp.DataTypeParam, exp.Var,
    exp.Interval, exp.IntervalSpan, exp.Dot,
)  # fmt: skip
"""What a value may be computed with: the parser writes these as Spark reads them."""


_STRICT = (
    exp.Cast, exp.TryCast, exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Upper,
    exp.Lower, exp.Trim, exp.Substring, exp.DPipe, exp.Abs, exp.Year, exp.Month, exp.Day, exp.Quarter, exp.DateTrunc,
    exp.TimestampTrunc, exp.TsOrDsToDate, exp.Date, exp.DateAdd, exp.DateSub, exp.TsOrDsAdd, exp.Dot,
)  # fmt: skip
"""What is NULL as soon as one of its arguments is."""


@dataclass(frozen=True)
class Value:
    """An expression over columns of `h0` and of hops, which are given by their numbers."""

    sql: exp.Expr
    hops: frozenset[int] = frozenset()

    @property
    def constant(self) -> bool:
        """Whether it is the same for all rows."""
        return self.sql.find(exp.Column) is None

    @property
    def cost(self) -> int:
        """How many joins it takes."""
        return len(self.hops)


Known = dict[str, Value]
"""Values by the canonical text of an expression over the columns of a SELECT's sources."""


def canonical(expression: exp.Expr) -> str:
    """The text by which equal expressions are found; columns are qualified before."""
    return str(expression.unnest().sql("spark", comments=False))


def value_of(expression: exp.Expr, known: Mapping[str, Value]) -> Value | None:
    """The value of an expression over known ones; None where one of its parts has none."""
    if (found := known.get(canonical(expression))) is not None:
        return found
    if isinstance(expression, exp.Column) or not isinstance(expression, _TRANSPARENT):
        return None
    copy = expression.copy()
    hops: frozenset[int] = frozenset()
    for name, part in _parts(copy):
        value = value_of(part, known)
        if value is None:
            return None
        hops |= value.hops
        _put(copy, name, part, value.sql.copy())
    return Value(copy, hops)


def null_with_any(expression: exp.Expr) -> bool:
    """Whether an expression is NULL as soon as one of its columns is."""
    if isinstance(expression, exp.Column):
        return True
    parts = (part for _, part in _parts(expression) if part.find(exp.Column))
    return isinstance(expression, _STRICT) and all(map(null_with_any, parts))


def null_with_all(expression: exp.Expr) -> bool:
    """Whether an expression is NULL where all of its columns are."""
    if isinstance(expression, exp.Column):
        return True
    found = [null_with_all(part) for _, part in _parts(expression)]
    return (isinstance(expression, _STRICT) and any(found)) or (isinstance(expression, exp.Coalesce) and all(found))


def column(alias: str, name: str) -> exp.Column:
    """A column, quoted."""
    return exp.column(name, table=alias, quoted=True)


def _parts(node: exp.Expr) -> list[tuple[str, exp.Expr]]:
    found = []
    for name, value in node.args.items():
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, exp.Expr) and not isinstance(part, exp.Identifier):
                found.append((name, part))
    return found


def _put(node: exp.Expr, name: str, old: exp.Expr, new: exp.Expr) -> None:
    value = node.args[name]
    if isinstance(value, list):
        node.set(name, [new if part is old else part for part in value])
    else:
        node.set(name, new)
