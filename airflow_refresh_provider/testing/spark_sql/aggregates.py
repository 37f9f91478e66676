"""Aggregates, and functions over windows."""

from __future__ import annotations

from sqlglot import exp

from airflow_refresh_provider.testing.spark_sql.expressions import (
    Handler,
    Scope,
    call,
    cast,
    operand,
    operands,
    shown,
    translated,
)
from airflow_refresh_provider.testing.spark_sql.operators import same_type
from airflow_refresh_provider.testing.spark_sql.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    INTEGERS,
    bounded,
    decimal_of,
    unsupported,
)

_RANKS: dict[type[exp.Expr], str] = {
    exp.RowNumber: INT, exp.Rank: INT, exp.DenseRank: INT, exp.PercentRank: DOUBLE, exp.CumeDist: DOUBLE,
}  # fmt: skip
_FRAME_ENDS = frozenset({"UNBOUNDED", "CURRENT ROW"})


def _count(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    if node.expressions:
        raise unsupported(f"{shown(node)} of several columns")
    if not isinstance(node.this, exp.Star):
        operand(node, "this", scope)
    return node, BIGINT


def _distinct(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    if len(node.expressions) != 1:
        raise unsupported(f"{shown(node)} of several columns")
    return node, operands(node, scope)[0]


def _sum(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    what = shown(node)
    was = operand(node, "this", scope)
    found = decimal_of(was)
    if was not in INTEGERS and was != DOUBLE and found is None:
        raise unsupported(f"{what} of {was}")
    kind = bounded(found[0] + 10, found[1]) if found else DOUBLE if was == DOUBLE else BIGINT
    return cast(node, kind), kind


def _average(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    what = shown(node)
    was = operand(node, "this", scope)
    if was not in INTEGERS and was != DOUBLE:
        raise unsupported(f"{what} of {was}: cast it to double")
    return node, DOUBLE


def _extreme(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    if node.expressions:
        raise unsupported(shown(node))
    return node, operand(node, "this", scope)


def _count_if(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    if operand(node, "this", scope) != BOOLEAN:
        raise unsupported(shown(node))
    return cast(call("count_if", node.this), BIGINT), BIGINT


def _all_or_any(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    if operand(node, "this", scope) != BOOLEAN:
        raise unsupported(shown(node))
    return node, BOOLEAN


def _filter(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    """FILTER (WHERE ...), which belongs to the aggregate itself, within the cast of its result."""
    kind = operand(node, "this", scope)
    translated(node.expression.this, scope)
    return _around_aggregate(node, kind), kind


def _window(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    if extra := [p for p in node.args if node.args[p] and p not in _WINDOW_PARTS]:
        raise unsupported(f"{shown(node)} ({extra[0]})")
    spec = node.args.get("spec")
    if spec is not None:
        _check_frame(spec)
    kind = ""
    if not isinstance(node.this, exp.Identifier):  # else it is the name of a window
        kind = operand(node, "this", scope)
    operands(node, scope, "partition_by")
    for key in list(node.args["order"].expressions) if node.args.get("order") else ():
        translated(key, scope)
    return _around_aggregate(node, kind), kind


_WINDOW_PARTS = frozenset({"this", "partition_by", "order", "spec", "over", "alias"})


def _around_aggregate(node: exp.Expr, kind: str) -> exp.Expr:
    """What belongs to an aggregate stands next to it: a cast of its result goes outside."""
    inner = node.this
    if not isinstance(inner, exp.Cast):
        return node
    node.set("this", inner.this)
    return cast(node, kind)


def _check_frame(spec: exp.Expr) -> None:
    for end in (spec.args.get("start"), spec.args.get("end")):
        if isinstance(end, str | None):
            known = end is None or end.upper() in _FRAME_ENDS
        else:
            known = str(spec.args.get("kind")).upper() == "ROWS" and isinstance(end, exp.Literal) and end.is_int
        if not known or spec.args.get("exclude"):
            raise unsupported(f"the frame {shown(spec)}")


def _rank(node: exp.Expr, _scope: Scope) -> tuple[exp.Expr, str]:
    kind = _RANKS[type(node)]
    return cast(node, kind), kind


def _ntile(node: exp.Expr, _scope: Scope) -> tuple[exp.Expr, str]:
    if not (isinstance(node.this, exp.Literal) and node.this.is_int):
        raise unsupported(shown(node))
    return cast(node, INT), INT


def _neighbour(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    """LAG and LEAD."""
    offset, default = node.args.get("offset"), node.args.get("default")
    if offset is not None and not (isinstance(offset, exp.Literal) and offset.is_int):
        raise unsupported(shown(node))
    return node, same_type([node.this, *([default] if default is not None else [])], scope)


def _value(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    """FIRST_VALUE, LAST_VALUE and NTH_VALUE."""
    offset = node.args.get("offset")
    if node.expressions or not (offset is None or (isinstance(offset, exp.Literal) and offset.is_int)):
        raise unsupported(shown(node))
    if node.find_ancestor(exp.Window, exp.Select) is None or not isinstance(node.parent, exp.Window):
        raise unsupported(f"{shown(node)} without OVER, which takes any row")
    return node, operand(node, "this", scope)


def _ordered(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    """A key of ORDER BY; where NULLs go the parser has noted as Spark has it."""
    return node, operand(node, "this", scope)


AGGREGATES: dict[type[exp.Expr], Handler] = {
    exp.Count: _count,
    exp.Distinct: _distinct,
    exp.Sum: _sum,
    exp.Avg: _average,
    **dict.fromkeys((exp.Min, exp.Max), _extreme),
    exp.CountIf: _count_if,
    **dict.fromkeys((exp.LogicalAnd, exp.LogicalOr), _all_or_any),
    exp.Filter: _filter,
    exp.Window: _window,
    **dict.fromkeys(_RANKS, _rank),
    exp.Ntile: _ntile,
    **dict.fromkeys((exp.Lag, exp.Lead), _neighbour),
    **dict.fromkeys((exp.FirstValue, exp.LastValue, exp.NthValue), _value),
    exp.Ordered: _ordered,
}
