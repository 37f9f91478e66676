"""Aggregates whose last digits over floating point depend on the order of the rows, and the columns that hold them.

Addition of DOUBLEs is not associative, and the order of rows after a shuffle is not fixed: two evaluations of one query
over the same inputs give other last digits. Columns that are only copied, or computed from one row, are not affected.
"""

from __future__ import annotations

from itertools import pairwise

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from airflow_refresh_provider.core.query.facts import FloatSums
from airflow_refresh_provider.core.query.parse import Parsed
from airflow_refresh_provider.core.text.wording import place_of

FUNCTIONS = frozenset(
    {
        "avg", "corr", "covar_pop", "covar_samp", "kurtosis", "mean", "regr_avgx", "regr_avgy", "regr_intercept",
        "regr_r2", "regr_slope", "regr_sxx", "regr_sxy", "regr_syy", "skewness", "std", "stddev", "stddev_pop",
        "stddev_samp", "sum", "try_avg", "try_sum", "var_pop", "var_samp", "variance", "vector_avg", "vector_sum",
    }
)  # fmt: skip
"""Spark's aggregate functions that add up, by the names that a query has for them."""

_EXACT = (
    exp.AnyValue, exp.ApproxDistinct, exp.ApproxQuantile, exp.ArgMax, exp.ArgMin, exp.ArrayAgg, exp.Count, exp.CountIf,
    exp.First, exp.Grouping, exp.Last, exp.Max, exp.Median, exp.Min, exp.Mode, exp.Quantile,
)  # fmt: skip
"""The parser's aggregates that do not add up; any other counts as one that does."""


def float_sums(parsed: Parsed) -> FloatSums | None:
    """The first such aggregate, and the columns of the result that may hold its value or one computed from it."""
    for token, after in pairwise(parsed.tokens):
        name = token.text.lower()
        if name in FUNCTIONS and after.token_type is TokenType.L_PAREN:
            line, column = place_of(parsed.text, token.start)
            return FloatSums(function=name, line=line, column=column, columns=_columns(parsed.tree))
    return None


def _columns(tree: exp.Query) -> tuple[str, ...] | None:
    """Their names in lower case, None where any column may be one.

    Names are followed through derived tables and WITH queries, whichever of them a column is from: a name that is given
    to a sum anywhere is taken for one everywhere.
    """
    unions = list(tree.find_all(exp.SetOperation))
    if any(tree.find_all(exp.Pivot, exp.Lateral)) or _renames(tree) or any(map(_has_star, unions)):
        return None
    parts = [part for select in tree.find_all(exp.Select) if _gives_names(select) for part in select.expressions]
    united = [pair for both in unions for pair in zip(*_sides(both), strict=False)]
    names: set[str] = set()
    while True:
        found = [part for part in parts if _holds_sum(part, names)]
        found += [left for left, right in united if _holds_sum(right, names)]
        if any(part.is_star or not part.alias_or_name for part in found):
            return None
        if (more := {part.alias_or_name.lower() for part in found}) == names:
            return tuple(sorted(names))
        names = more


def _gives_names(select: exp.Select) -> bool:
    """Whether the names of its columns can be read: not those of a value, nor of what is united with another SELECT."""
    node: exp.Expr = select
    while isinstance(node.parent, exp.Subquery):
        node = node.parent
    if isinstance(node.parent, exp.SetOperation):
        return node.arg_key == "this"
    return not isinstance(node.parent, exp.Condition | exp.Alias)


def _has_star(both: exp.SetOperation) -> bool:
    return any(part.is_star for side in _sides(both) for part in side)


def _sides(both: exp.SetOperation) -> tuple[list[exp.Expr], list[exp.Expr]]:
    """The columns of two SELECTs that are united by their position; the result has the names of the left ones."""
    return both.left.selects, both.right.selects


def _renames(tree: exp.Query) -> bool:
    """Whether a derived table or WITH query gives its columns other names."""
    return any(alias.args.get("columns") for alias in tree.find_all(exp.TableAlias))


def _holds_sum(part: exp.Expr, names: set[str]) -> bool:
    return any(_adds_up(node) or _names(node, names) for node in part.walk())


def _adds_up(node: exp.Expr) -> bool:
    if isinstance(node, exp.Anonymous | exp.AnonymousAggFunc):
        return node.name.lower() in FUNCTIONS
    return isinstance(node, exp.AggFunc) and not isinstance(node, _EXACT)


def _names(node: exp.Expr, names: set[str]) -> bool:
    """Whether a column is one of those, or a field of one."""
    return isinstance(node, exp.Column) and any(part.name.lower() in names for part in node.parts)
