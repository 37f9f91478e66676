"""Temporal filters: conditions of WHERE that read the clock, such as `day >= current_date() - 7`.

As time passes they let rows of an input into the result, or out of it, without a change of the input. A row of FROM has
one row of each source, or NULL in all of its columns after an outer join. So a condition over columns of one input is
decided by that row alone: the rows count as changed for which it gives something else than at the last refresh. For the
rows of NULL it must always give the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from airflow_refresh_provider.core.maintain.joins import Joined
from airflow_refresh_provider.core.maintain.plan import TemporalFilter
from airflow_refresh_provider.core.maintain.scopes import Scope, conjuncts, inside_subquery, is_known, sources_of
from airflow_refresh_provider.core.maintain.temporal_sql import MARKED, MARKER
from airflow_refresh_provider.core.query.clock_functions import clock_function

_NULL_BY_ROW = (
    exp.Column, exp.Identifier, exp.Literal, exp.Var, exp.Interval, exp.IntervalSpan, exp.Paren, exp.Neg, exp.Add,
    exp.Sub, exp.Mul, exp.EQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.Not, exp.Cast, exp.TryCast,
    exp.DataType, exp.DataTypeParam, exp.Dot, exp.TsOrDsAdd, exp.TsOrDsToDate, exp.Date, exp.DateAdd, exp.DateSub,
    exp.DateDiff, exp.DateTrunc, exp.TimestampTrunc, exp.TimestampAdd, exp.TimestampDiff, exp.AddMonths, exp.LastDay,
    exp.MonthsBetween, exp.Year, exp.Quarter, exp.Month, exp.Day, exp.Anonymous,
)  # fmt: skip
"""With these a condition is NULL where a column of the row is, at any time. `Anonymous` stands for the clock here.

BETWEEN may be false instead: that is all the same where it is the whole condition, and nowhere else.
"""

_OTHERS = (
    exp.And, exp.Or, exp.NEQ, exp.NullSafeEQ, exp.Is, exp.In, exp.Null, exp.Boolean, exp.Coalesce, exp.Case, exp.If,
    exp.Div, exp.Floor, exp.StrToUnix, exp.Least, exp.Greatest,
)  # fmt: skip


@dataclass(frozen=True)
class Found:
    """A filter, and the clock functions in it."""

    filter: TemporalFilter
    clocks: tuple[exp.Expr, ...]


def filters(select: exp.Select, scope: Scope, joined: Joined) -> Iterator[Found]:
    """The temporal filters of a SELECT whose rows are known to come and go with those of one input."""
    where = select.args.get("where")
    tables = _tables(select)
    for condition in conjuncts(where.this) if where else ():
        clocks = tuple(n for n in condition.walk() if clock_function(n) and not inside_subquery(n, condition))
        if not clocks:
            continue
        marked = scope.qualified(_marked(condition))
        (alias, *others) = sources_of(marked) or {""}
        if others or alias not in tables or alias in scope.hidden or not _is_followed(marked):
            continue
        null_by_row = _is_null_by_row(marked)
        leaf, text = scope.sources[alias].leaf, _text(marked)
        of_row = null_by_row or alias not in joined.nullable
        if leaf is not None and of_row and len(MARKED.findall(text)) == len(clocks):
            yield Found(TemporalFilter(input=leaf, sql=text, null_by_row=null_by_row), clocks)


def spelled(filters: Iterable[TemporalFilter], names: Mapping[str, str]) -> tuple[TemporalFilter, ...]:
    """The filters, each once, with the inputs as the definition spells them."""
    return tuple(dict.fromkeys(one.model_copy(update={"input": names[one.input]}) for one in filters))


def _tables(select: exp.Select) -> set[str]:
    """The aliases of what FROM reads directly, not in parentheses and not by a query."""
    from_ = select.args.get("from_")
    sources = [from_.this] if from_ else []
    sources += [join.this for join in select.args.get("joins") or ()]
    return {s.alias_or_name.lower() for s in sources if isinstance(s, exp.Table) and not s.args.get("joins")}


def _marked(condition: exp.Expr) -> exp.Expr:
    """A copy with a marker for each clock function."""

    def step(node: exp.Expr) -> exp.Expr:
        name = clock_function(node)
        return exp.Anonymous(this=f"{MARKER}{name.upper()}") if name else node

    return condition.copy().transform(step, copy=False)


def _is_followed(marked: exp.Expr) -> bool:
    """Whether all of it is understood: the text that is made of it is what the query says."""
    calls = (node.name for node in marked.find_all(exp.Anonymous))
    known = all(isinstance(node, _NULL_BY_ROW + _OTHERS) for node in marked.walk())
    return is_known(marked) and known and all(name.startswith(MARKER) for name in calls)


def _is_null_by_row(marked: exp.Expr) -> bool:
    """Whether it is never true for a row with NULL in a column of it."""
    inner = (node for node in marked.find_all(exp.Between) if node is not marked)
    return next(inner, None) is None and all(isinstance(node, _NULL_BY_ROW) for node in marked.walk())


def _text(marked: exp.Expr) -> str:
    """The text over columns of the input alone."""
    for node in list(marked.find_all(exp.Column)):
        node.set("table", None)
    return str(marked.sql("spark", comments=False))
