"""Whether a query is row-wise: each row of its result depends on one row of its one input.

Only listed constructs and functions are allowed. Any other is an obstacle: the query counts as not row-wise, which
rules out some ways to load and to refresh it, and never gives a wrong result.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from airflow_refresh_provider.core.query.facts import CLOCK_CALLS, Obstacle
from airflow_refresh_provider.core.query.parse import Parsed, start_of
from airflow_refresh_provider.core.text.wording import place_of

_CLAUSES = frozenset({"expressions", "from_", "where"})

_KEYWORDS = {
    "with_": "WITH", "distinct": "DISTINCT", "joins": "JOIN", "group": "GROUP BY", "having": "HAVING",
    "order": "ORDER BY", "limit": "LIMIT", "offset": "OFFSET", "laterals": "LATERAL", "qualify": "QUALIFY",
    "windows": "WINDOW", "sort": "SORT BY", "cluster": "CLUSTER BY", "distribute": "DISTRIBUTE BY", "pivots": "PIVOT",
}  # fmt: skip
"""How a clause is written."""

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


def obstacle(parsed: Parsed) -> Obstacle | None:
    """The first construct that is not row-wise; None for one SELECT of allowed expressions over one input, with or
    without WHERE.
    """
    tree = parsed.tree
    if not isinstance(tree, exp.Select):
        return obstacle_at(parsed, start_of(tree), f"{tree.key.upper()} of several SELECTs")
    if clauses := [_clause(parsed, tree, clause) for clause in _given(tree) - _CLAUSES]:
        return min(clauses, key=lambda found: (found.line, found.column))
    if "from_" not in _given(tree):
        return obstacle_at(parsed, 0, "a SELECT without an input")
    tables = list(tree.find_all(exp.Table))
    if len(tables) != 1 or not isinstance(tables[0].this, exp.Identifier):
        return obstacle_at(parsed, start_of(tables[-1]) if tables else 0, "more than one input")
    for extra in sorted(_given(tables[0]) - {"this", "alias"}):
        return _clause(parsed, tables[0], extra)
    found = next((n for n in tree.walk() if n is not tree and n is not tables[0] and not _is_allowed(n)), None)
    return obstacle_at(parsed, start_of(found), _construct(found)) if found else None


def obstacle_at(parsed: Parsed, offset: int, what: str) -> Obstacle:
    """A construct at a character of the query."""
    line, column = place_of(parsed.text, offset)
    return Obstacle(what=what, line=line, column=column)


def _clause(parsed: Parsed, node: exp.Expr, clause: str) -> Obstacle:
    """A clause at its keyword. What the parser calls a join may have none: a comma between two tables."""
    word = _KEYWORDS.get(clause, clause.strip("_").upper())
    first = word.split(" ")[0]
    start = next((start for start, text in _outermost(parsed) if text.split(" ")[0] == first), None)
    if start is None:
        value = node.args[clause]
        start = start_of(value[0] if isinstance(value, list) else value) if clause == "joins" else 0
    return obstacle_at(parsed, start, word)


def _outermost(parsed: Parsed) -> Iterator[tuple[int, str]]:
    """Where each token outside of parentheses starts, and its text: words inside belong to other clauses."""
    depth = 0
    for token in parsed.tokens:
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        if depth == 0:
            yield token.start, token.text.upper()


def _construct(node: exp.Expr) -> str:
    if isinstance(node, exp.AggFunc):
        return f"the aggregate function {node.key}"
    if isinstance(node, exp.Window):
        return "a window function"
    if isinstance(node, exp.Subquery | exp.Select | exp.Exists):
        return "a subquery"
    if isinstance(node, exp.Func):
        return f"the function {node.name if isinstance(node, exp.Anonymous) else node.key}"
    return f"the expression {node.key}"


def _given(node: exp.Expr) -> set[str]:
    return {part for part, value in node.args.items() if value}


def _is_allowed(node: exp.Expr) -> bool:
    if isinstance(node, exp.Anonymous):  # a clock function unknown to the parser, bound before it runs
        return node.name.lower() in CLOCK_CALLS
    return isinstance(node, _STRUCTURE + _FUNCTIONS) and not isinstance(node, exp.AggFunc)
