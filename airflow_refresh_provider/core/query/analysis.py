"""All checks of a query in one place; imported only when a query is looked into, for the parser is slow to load."""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

from airflow_refresh_provider.core.query.clock_functions import clock_spans
from airflow_refresh_provider.core.query.facts import ClockSpan, QueryFacts
from airflow_refresh_provider.core.query.parse import Parsed, parse, place_of
from airflow_refresh_provider.core.query.repeatable import check_repeatable
from airflow_refresh_provider.core.query.row_wise import obstacle
from airflow_refresh_provider.core.query.tables import tables_of


def facts_of(query: str, input_names: Collection[str]) -> QueryFacts:
    """What a query is, once it has passed every check. Raises Invalid with the position of the first complaint."""
    parsed = parse(query)
    tables = tables_of(parsed, input_names)
    check_repeatable(parsed)
    spans = clock_spans(parsed)
    found = obstacle(parsed)
    return QueryFacts(
        tables=tables,
        clock_spans=spans,
        row_wise=found is None,
        obstacle=found or _clock(parsed, spans),
        columns=_columns(parsed.tree),
    )


def _columns(tree: exp.Query) -> tuple[str, ...] | None:
    """What the result's columns are called, None where that is not all written down.

    A `*` has Spark look names up, and an expression without a name has it make one.
    """
    selected = tree.selects
    written = all(isinstance(part, exp.Alias | exp.Column) and not part.is_star for part in selected)
    return tuple(part.alias_or_name for part in selected) if selected and written else None


def _clock(parsed: Parsed, spans: tuple[ClockSpan, ...]) -> str | None:
    if not spans:
        return None
    return f"query, {place_of(parsed.text, spans[0].start)}: {spans[0].function} changes rows that nobody has touched"
