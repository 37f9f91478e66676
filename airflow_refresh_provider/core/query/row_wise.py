"""Whether a query is row-wise: each row of its result depends on one row of its one input.

Such a query is one SELECT with or without WHERE over one input, or over another such SELECT: a derived table, or a WITH
query that is read once. Only listed constructs and functions are allowed. Any other is an obstacle: the query counts
as not row-wise, which rules out some ways to load and to refresh it, and never gives a wrong result.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from airflow_refresh_provider.core.query import spark_functions
from airflow_refresh_provider.core.query.facts import Obstacle
from airflow_refresh_provider.core.query.parse import Parsed, start_of
from airflow_refresh_provider.core.text.wording import place_of

_CLAUSES = frozenset({"expressions", "from_", "where", "with_"})

_KEYWORDS = {
    "distinct": "DISTINCT", "joins": "JOIN", "group": "GROUP BY", "having": "HAVING", "order": "ORDER BY",
    "limit": "LIMIT", "offset": "OFFSET", "laterals": "LATERAL", "qualify": "QUALIFY", "windows": "WINDOW",
    "sort": "SORT BY", "cluster": "CLUSTER BY", "distribute": "DISTRIBUTE BY", "pivots": "PIVOT",
}  # fmt: skip
"""How a clause is written."""

_STRUCTURE = (
    exp.TableAlias, exp.Identifier, exp.Star, exp.Alias, exp.Aliases, exp.DataType, exp.DataTypeParam, exp.Interval,
    exp.IntervalSpan, exp.Var, exp.Lambda, exp.Kwarg, exp.ColumnDef, exp.Tuple, exp.Slice, exp.JSONPath,
    exp.JSONPathPart, exp.Where, exp.AtTimeZone, exp.FromTimeZone,
)  # fmt: skip
"""What an expression consists of besides conditions: operators, literals, columns and functions."""

_OTHER_ROWS = (exp.Window, exp.Exists, exp.Any, exp.All)
"""Conditions over other rows; except the first, with a query only: an array has an `exists` too."""

_SESSION = (exp.CurrentUser, exp.SessionUser, exp.CurrentCatalog, exp.CurrentSchema, exp.CurrentDatabase)
"""Functions that need no parentheses and depend on who asks."""

_SYNTAX = frozenset(
    {
        "as", "by", "case", "dec", "else", "except", "from", "interval", "numeric", "on", "over", "position", "select",
        "then", "timestampadd", "timestampdiff", "try_cast", "values", "varchar", "where",
    }
)  # fmt: skip
"""Words before a parenthesis that are no function, or one that only Spark's parser knows."""

_LIKE = frozenset({"like", "ilike", "rlike"})
_QUANTIFIERS = frozenset({"any", "all", "some"})
"""`a LIKE ANY ('x', 'y')`: no functions there, and aggregate functions elsewhere."""


def obstacle(parsed: Parsed) -> Obstacle | None:
    """The first construct that is not row-wise; None for a row-wise query."""
    try:
        selects = tuple(_chain(parsed, parsed.tree, {}))
    except _Found as stop:
        return stop.obstacle
    if unread := [cte for cte in parsed.tree.find_all(exp.CTE) if not any(s is cte.this for s in selects)]:
        return obstacle_at(parsed, start_of(unread[0]), "a WITH query that is not read")
    found = [*_expressions(parsed, selects), *other_functions(parsed)]
    return min(found, key=lambda one: (one.line, one.column), default=None)


def obstacle_at(parsed: Parsed, offset: int, what: str) -> Obstacle:
    """A construct at a character of the query."""
    line, column = place_of(parsed.text, offset)
    return Obstacle(what=what, line=line, column=column)


class _Found(Exception):
    """An obstacle in the clauses of a SELECT."""

    def __init__(self, obstacle: Obstacle) -> None:
        self.obstacle = obstacle


_Visible = dict[str, tuple[exp.CTE, "_Visible"]]
"""The WITH queries that can be seen at a place, each with those that it sees itself."""


def _chain(parsed: Parsed, query: exp.Expr, visible: _Visible) -> Iterator[exp.Select]:
    """A query and the queries that it reads, down to the one over the input. Raises _Found."""
    if not isinstance(query, exp.Select):
        several = isinstance(query, exp.SetOperation)
        what = f"{query.key.upper()} of several SELECTs" if several else "something else than a SELECT"
        raise _Found(obstacle_at(parsed, start_of(query), what))
    yield query
    if clauses := [_clause(parsed, query, clause) for clause in _given(query) - _CLAUSES]:
        raise _Found(min(clauses, key=lambda found: (found.line, found.column)))
    visible = _with_queries(parsed, query, visible)
    from_ = query.args.get("from_")
    if from_ is None:
        raise _Found(obstacle_at(parsed, 0, "a SELECT without an input"))
    source = from_.this
    for extra in sorted(_given(source) - {"this", "alias"}):
        raise _Found(_clause(parsed, source, extra))
    if isinstance(source, exp.Subquery):
        yield from _chain(parsed, source.this, visible)
    elif not isinstance(source, exp.Table) or not isinstance(source.this, exp.Identifier):
        raise _Found(obstacle_at(parsed, start_of(source), "rows that are not of an input"))
    elif source.name.lower() in visible:
        cte, sees = visible[source.name.lower()]
        yield from _chain(parsed, cte.this, sees)


def _with_queries(parsed: Parsed, query: exp.Select, visible: _Visible) -> _Visible:
    """What a query sees: its own WITH queries too, each of which sees those before it."""
    with_ = query.args.get("with_")
    if with_ is None:
        return visible
    if with_.args.get("recursive"):
        raise _Found(obstacle_at(parsed, start_of(with_), "WITH RECURSIVE"))
    for cte in with_.expressions:
        visible = visible | {cte.alias.lower(): (cte, visible)}
    return visible


def _clause(parsed: Parsed, node: exp.Expr, clause: str) -> Obstacle:
    """A clause at its keyword. What the parser calls a join may have none: a comma between two tables."""
    word = _KEYWORDS.get(clause, clause.strip("_").upper())
    value = node.args[clause]
    inside = start_of(value[0] if isinstance(value, list) else value) if isinstance(value, exp.Expr | list) else 0
    before = [token for token in parsed.tokens if token.start < inside]
    if clause == "joins" and before and before[-1].token_type is TokenType.COMMA:
        return obstacle_at(parsed, inside, word)
    first = word.split(" ")[0]
    starts = [token.start for token in before or parsed.tokens if token.text.upper().split(" ")[0] == first]
    return obstacle_at(parsed, starts[-1] if starts else inside, word)


def _expressions(parsed: Parsed, selects: tuple[exp.Select, ...]) -> Iterator[Obstacle]:
    """What is not row-wise in the expressions of the SELECTs, functions excepted."""
    for select in selects:
        for part in (*select.expressions, *filter(None, [select.args.get("where")])):
            found = next((node for node in part.walk() if not is_of_one_row(node)), None)
            if found is not None:
                yield obstacle_at(parsed, start_of(found), _construct(found))


def is_of_one_row(node: exp.Expr) -> bool:
    """Whether a node of an expression looks at one row; of functions this is said by their names."""
    if isinstance(node, _OTHER_ROWS):
        return not isinstance(node, exp.Window) and not isinstance(node.this, exp.Query)
    return isinstance(node, (exp.Condition, *_STRUCTURE)) and not isinstance(node, _SESSION)


def _construct(node: exp.Expr) -> str:
    if isinstance(node, exp.Window):
        return "a window function"
    if isinstance(node, exp.Query | exp.Exists | exp.Any | exp.All):
        return "a subquery"
    return f"the function {node.key}" if isinstance(node, exp.Func) else f"the expression {node.key}"


def other_functions(parsed: Parsed) -> Iterator[Obstacle]:
    """Calls of functions that are not known to look at one row, by the names that the query has for them.

    Names in the text, because the parser gives several functions of Spark one name of its own.
    """
    named = _aliases_with_columns(parsed.tree)
    before: Token | None = None
    for token, after in pairwise(parsed.tokens):
        if after.token_type is TokenType.L_PAREN and token.start not in named and _is_word(parsed, token):
            name = token.text.lower()
            qualified = before is not None and before.token_type is TokenType.DOT
            if qualified or not (name in spark_functions.ROW or _is_syntax(parsed, token, before)):
                yield obstacle_at(parsed, token.start, _function(name))
        before = token


def _is_word(parsed: Parsed, token: Token) -> bool:
    """Whether a token is a word, quoted or not, and not a string or an operator."""
    first = parsed.text[token.start]
    return first.isalpha() or first in "_`"


def _is_syntax(parsed: Parsed, token: Token, before: Token | None) -> bool:
    """Whether a word before a parenthesis belongs to the language; a quoted one is a name."""
    word = token.text.lower()
    if parsed.text[token.start] == "`":
        return False
    return word in _SYNTAX or (word in _QUANTIFIERS and before is not None and before.text.lower() in _LIKE)


def _aliases_with_columns(tree: exp.Expr) -> frozenset[int]:
    """Where names of derived tables start: `t(a, b)` names columns and calls no function."""
    names = (alias.this for alias in tree.find_all(exp.TableAlias) if alias.args.get("columns"))
    return frozenset(int(name.meta["start"]) for name in names if name is not None and "start" in name.meta)


def _function(name: str) -> str:
    for kind, names in (("aggregate ", spark_functions.AGGREGATE), ("window ", spark_functions.WINDOW)):
        if name in names:
            return f"the {kind}function {name}"
    return f"the generator function {name}" if name in spark_functions.GENERATOR else f"the function {name}"


def _given(node: exp.Expr) -> set[str]:
    return {part for part, value in node.args.items() if value}
