"""Whether a query treats each row of one input by itself, so that it may be run on parts of that input.

Everything must be known to be harmless. A construct or function that is not listed is an obstacle: the query counts as
not row-wise, which costs ways of loading and of keeping the result up to date, and never a right result.
"""

from __future__ import annotations

from sqlglot import exp

from airflow_refresh_provider.core.query.facts import CLOCK_CALLS
from airflow_refresh_provider.core.query.parse import Parsed, place_of, start_of

_CLAUSES = frozenset({"expressions", "from_", "where"})

_KEYWORDS = {
    "with_": "WITH", "distinct": "DISTINCT", "joins": "JOIN", "group": "GROUP", "having": "HAVING", "order": "ORDER",
    "limit": "LIMIT", "offset": "OFFSET", "laterals": "LATERAL", "qualify": "QUALIFY", "windows": "WINDOW",
    "sort": "SORT", "cluster": "CLUSTER", "distribute": "DISTRIBUTE", "pivots": "PIVOT",
}  # fmt: skip
"""The word by which a clause is found in the text."""

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


def obstacle(parsed: Parsed) -> str | None:
    """What keeps a query from being row-wise, with its position; None when it is one SELECT of columns from one input,
    with or without WHERE, made of nothing but harmless parts.
    """
    tree = parsed.tree
    if not isinstance(tree, exp.Select):
        return _at(parsed, start_of(tree), f"{tree.key.upper()} combines rows of several SELECTs")
    for clause in sorted(_given(tree) - _CLAUSES):
        return _clause(parsed, clause)
    if "from_" not in _given(tree):
        return _at(parsed, 0, "it reads no input")
    tables = list(tree.find_all(exp.Table))
    if len(tables) != 1 or not isinstance(tables[0].this, exp.Identifier):
        return _at(parsed, start_of(tables[-1]) if tables else 0, "it reads more than the rows of one input")
    for extra in sorted(_given(tables[0]) - {"this", "alias"}):
        return _clause(parsed, extra)
    harmful = next((n for n in tree.walk() if n is not tree and n is not tables[0] and not _harmless(n)), None)
    return _at(parsed, start_of(harmful), _blamed(harmful)) if harmful else None


def _clause(parsed: Parsed, clause: str) -> str:
    word = _KEYWORDS.get(clause, clause.strip("_").upper())
    place = next((t.start for t in parsed.tokens if t.text.upper().split(" ")[0] == word), 0)
    return _at(parsed, place, f"{word} makes rows depend on other rows, or on other tables")


def _blamed(node: exp.Expr) -> str:
    if isinstance(node, exp.AggFunc):
        return f"{node.key} looks at many rows"
    if isinstance(node, exp.Window | exp.Subquery | exp.Select | exp.Exists):
        return f"a {node.key} looks at other rows"
    if isinstance(node, exp.Func):
        return f"{node.name if isinstance(node, exp.Anonymous) else node.key} is not known to depend on its row alone"
    return f"{node.key} is not known to depend on its row alone"


def _at(parsed: Parsed, offset: int, what: str) -> str:
    return f"query, {place_of(parsed.text, offset)}: {what}"


def _given(node: exp.Expr) -> set[str]:
    return {part for part, value in node.args.items() if value}


def _harmless(node: exp.Expr) -> bool:
    if isinstance(node, exp.Anonymous):  # a clock function the parser does not know, bound before it runs
        return node.name.lower() in CLOCK_CALLS
    return isinstance(node, _STRUCTURE + _FUNCTIONS) and not isinstance(node, exp.AggFunc)
