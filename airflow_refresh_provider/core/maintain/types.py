"""Types of expressions, as far as they are known, and which of them may be compared without a change of values.

A value that is carried over an equality has to be the same text and the same number on the other side. Spark casts
text to a number to compare them, and '01' is equal to 1.
"""

from __future__ import annotations

from sqlglot import exp

from airflow_refresh_provider.core.maintain.scopes import Scope

_INTEGERS = frozenset({"tinyint", "smallint", "int", "bigint"})
_OF_TEXT = (exp.Upper, exp.Lower, exp.Trim, exp.Concat, exp.DPipe, exp.Substring)
_OF_DATE = (exp.TsOrDsToDate, exp.Date, exp.DateTrunc)
_OF_NUMBER = (exp.Year, exp.Month, exp.Day, exp.Quarter)


def comparable(one: str | None, other: str | None) -> bool:
    """Whether equal values of two types are equal after a cast to either."""
    if one is None or other is None:
        return False
    if "collate" in one or "collate" in other:
        return False
    return one == other or {one, other} <= _INTEGERS


def type_of(expression: exp.Expr, scope: Scope) -> str | None:
    """The type of a qualified expression, None where it is not known."""
    node = expression.unnest()
    match node:
        case exp.Column():
            relation = scope.sources.get(node.table)
            return relation.types.get(node.name) if relation else _outer(node, scope)
        case exp.Cast():
            return str(node.to.sql("spark")).lower()
        case exp.Literal():
            return "string" if node.is_string else "int" if str(node.this).isdigit() else None
        case exp.Coalesce():
            kinds = {type_of(part, scope) for part in (node.this, *node.expressions)}
            return kinds.pop() if len(kinds) == 1 else None
    if isinstance(node, _OF_TEXT):
        return "string"
    if isinstance(node, _OF_DATE):
        return "date"
    if isinstance(node, exp.TimestampTrunc):
        return "timestamp"
    if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Mod):
        return "int" if {type_of(node.left, scope), type_of(node.right, scope)} <= _INTEGERS else None
    return "int" if isinstance(node, _OF_NUMBER) else None


def _outer(node: exp.Column, scope: Scope) -> str | None:
    relation = scope.outer.sources.get(node.table[1:]) if scope.outer else None
    return relation.types.get(node.name) if relation else None
