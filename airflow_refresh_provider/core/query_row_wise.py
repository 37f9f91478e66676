"""Whether a query treats each row of one input by itself, so that it may be run on parts of that input.

Everything must be known to be harmless. A construct or function that is not listed makes the query count as not
row-wise, which costs a way of loading and never a right result.
"""

from __future__ import annotations

from sqlglot import exp

from airflow_refresh_provider.core.query_facts import CLOCK_CALLS

_CLAUSES = frozenset({"expressions", "from_", "where"})

_STRUCTURE = (
    exp.From, exp.Where, exp.TableAlias, exp.Identifier, exp.Star, exp.Column, exp.Alias, exp.Literal, exp.Boolean,
    exp.Null, exp.Binary, exp.Unary, exp.Between, exp.In, exp.Case, exp.If, exp.Cast, exp.TryCast, exp.DataType,
    exp.DataTypeParam, exp.Interval, exp.Var, exp.Bracket,
)  # fmt: skip

_FUNCTIONS = (
    exp.Abs, exp.Array, exp.Ceil, exp.Coalesce, exp.Concat, exp.ConcatWs, exp.CurrentDate, exp.CurrentTimestamp,
    exp.DateDiff, exp.DateSub, exp.DateTrunc, exp.Day, exp.DayOfMonth, exp.DayOfWeek, exp.DayOfYear, exp.Exp,
    exp.Extract, exp.Floor, exp.Greatest, exp.Hex, exp.Hour, exp.Initcap, exp.Least, exp.Left, exp.Length, exp.Ln,
    exp.Lower, exp.MD5, exp.Minute, exp.Month, exp.Nullif, exp.Pad, exp.Quarter, exp.RegexpExtract,
    exp.RegexpReplace, exp.Replace, exp.Right, exp.Round, exp.SHA, exp.SHA2, exp.Second, exp.Sign, exp.Split,
    exp.Sqrt, exp.StrToTime, exp.Struct, exp.Substring, exp.TimeToStr, exp.TimestampTrunc, exp.Trim, exp.TsOrDsAdd,
    exp.TsOrDsToDate, exp.UnixToStr, exp.Upper, exp.Year,
)  # fmt: skip


def is_row_wise(tree: exp.Expr) -> bool:
    """One SELECT of columns from one input, with or without WHERE, made of nothing but harmless parts."""
    if not isinstance(tree, exp.Select) or not _given(tree) <= _CLAUSES or "from_" not in _given(tree):
        return False
    tables = list(tree.find_all(exp.Table))
    if len(tables) != 1 or not isinstance(tables[0].this, exp.Identifier) or not _given(tables[0]) <= {"this", "alias"}:
        return False
    return all(_harmless(node) for node in tree.walk() if node is not tree and node is not tables[0])


def _given(node: exp.Expr) -> set[str]:
    return {part for part, value in node.args.items() if value}


def _harmless(node: exp.Expr) -> bool:
    if isinstance(node, exp.Anonymous):  # a clock function the parser does not know, bound before it runs
        return node.name.lower() in CLOCK_CALLS
    return isinstance(node, _STRUCTURE + _FUNCTIONS) and not isinstance(node, exp.AggFunc)
