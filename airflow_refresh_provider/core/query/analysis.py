"""All checks of a query in one place; imported only when a query is analysed, as the parser is slow to load."""

from __future__ import annotations

from functools import lru_cache, partial

from sqlglot import exp

from airflow_refresh_provider.core.query.clock_functions import clock_spans
from airflow_refresh_provider.core.query.date_words import date_words
from airflow_refresh_provider.core.query.facts import ClockSpan, Obstacle, QueryFacts
from airflow_refresh_provider.core.query.float_sums import float_sums
from airflow_refresh_provider.core.query.parse import Parsed, parse
from airflow_refresh_provider.core.query.repeatable import check_repeatable
from airflow_refresh_provider.core.query.row_wise import obstacle, obstacle_at
from airflow_refresh_provider.core.query.tables import tables_of
from airflow_refresh_provider.errors import Invalid


@lru_cache(maxsize=256)
def facts_of(query: str, input_names: tuple[str, ...]) -> QueryFacts:
    """The facts of a query that passes every check. Raises Invalid with the position of the first problem.

    Kept, because a definition is analysed when it is built and again when it is registered.
    """
    parsed = parse(query)
    tables = tables_of(parsed, input_names)
    check_repeatable(parsed)
    words = date_words(parsed)
    spans = clock_spans(parsed)
    found = obstacle(parsed)
    return QueryFacts(
        tables=tables,
        clock_spans=spans,
        row_wise=found is None,
        obstacle=found or _clock(parsed, spans),
        columns=_columns(parsed.tree),
        float_sums=float_sums(parsed),
        date_words=words,
    )


def problems_of(query: str, input_names: tuple[str, ...]) -> tuple[list[Invalid], tuple[str, ...] | None]:
    """What is wrong with a query, the first problem of each kind, and the names of its columns where they are known."""
    try:
        parsed = parse(query)
    except Invalid as error:
        return [error], None
    found = []
    of_tables = partial(tables_of, input_names=input_names)
    for check in (of_tables, check_repeatable, date_words, clock_spans):
        try:
            check(parsed)
        except Invalid as error:
            found.append(error)
    return found, _columns(parsed.tree)


def _columns(tree: exp.Query) -> tuple[str, ...] | None:
    """The names of the result's columns, None where the query does not list them all.

    Spark expands a `*`, and makes up the name of an expression without one.
    """
    selected = tree.selects
    written = all(isinstance(part, exp.Alias | exp.Column) and not part.is_star for part in selected)
    return tuple(part.alias_or_name for part in selected) if selected and written else None


def _clock(parsed: Parsed, spans: tuple[ClockSpan, ...]) -> Obstacle | None:
    """A clock changes rows of the result without a change of the input."""
    return obstacle_at(parsed, spans[0].start, f"the clock function {spans[0].function}") if spans else None
