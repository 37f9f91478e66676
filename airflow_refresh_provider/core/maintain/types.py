"""Types of expressions, as far as they are known, and which of them may be compared without a change of values.

A value that is carried over an equality has to be the same text and the same number on the other side. Spark casts
text to a number to compare them, and '01' is equal to 1.
"""

from __future__ import annotations

from sqlglot import exp

from airflow_refresh_provider.core.definition.columns import INTEGERS
from airflow_refresh_provider.core.maintain.scopes import Scope
from airflow_refresh_provider.core.maintain.structs import ASSUMED, as_written, field_type

_ALWAYS: dict[tuple[type[exp.Expr], ...], str] = {
    (exp.Upper, exp.Lower, exp.Trim, exp.Concat, exp.DPipe, exp.Substring): "string",
    (exp.TsOrDsToDate, exp.Date, exp.DateTrunc): "date",
    (exp.TimestampTrunc,): "timestamp",
    (exp.Year, exp.Month, exp.Day, exp.Quarter): "int",
    (exp.Count,): "bigint",
}
"""The types of expressions that have only one."""


def comparable(one: str | None, other: str | None) -> bool:
    """Whether equal values of two types are equal after a cast to either."""
    if one is None or other is None:
        return False
    if "collate" in one or "collate" in other:
        return False
    return one == other or ASSUMED in (one, other) or {one, other} <= INTEGERS


def type_of(expression: exp.Expr, scope: Scope) -> str | None:
    """The type of a qualified expression, None where it is not known."""
    node = expression.unnest()
    match node:
        case exp.Column():
            relation = scope.sources.get(node.table)
            return relation.types.get(node.name) if relation else _outer(node, scope)
        case exp.Dot():
            return field_type(type_of(node.this, scope), [node.expression.name])
        case exp.Cast():
            return as_written(node.to)
        case exp.Literal():
            return "string" if node.is_string else "int" if str(node.this).isdigit() else None
        case exp.Coalesce():
            return _one_of({type_of(part, scope) for part in (node.this, *node.expressions)})
        case exp.Min() | exp.Max():
            return type_of(node.this, scope)
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Mod():
            return _of_numbers({type_of(node.left, scope), type_of(node.right, scope)})
    collated = any("collate" in (type_of(part, scope) or "") for part in node.find_all(exp.Column))
    return None if collated else next((type_ for kinds, type_ in _ALWAYS.items() if isinstance(node, kinds)), None)


def _one_of(kinds: set[str | None]) -> str | None:
    known = kinds - {ASSUMED} or kinds
    return known.pop() if len(known) == 1 else None


def _of_numbers(kinds: set[str | None]) -> str | None:
    if not kinds <= {*INTEGERS, ASSUMED}:
        return None
    return ASSUMED if ASSUMED in kinds else "int"


def _outer(node: exp.Column, scope: Scope) -> str | None:
    relation = scope.outer.sources.get(node.table[1:]) if scope.outer else None
    return relation.types.get(node.name) if relation else None
