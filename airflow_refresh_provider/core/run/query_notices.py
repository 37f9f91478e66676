"""What people should know of a query that is accepted, each with a code that stays the same."""

from __future__ import annotations

from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.plan.inexact import summed_columns
from airflow_refresh_provider.core.query.facts import QueryFacts
from airflow_refresh_provider.core.run.notice import Notice

FLOAT_SUM = "float_sum"
"""The query adds up floating point, whose last digits depend on the order of the rows."""


def query_notices(
    definition: Definition, facts: QueryFacts, floating: tuple[str, ...] | None = None
) -> tuple[Notice, ...]:
    """The notes on a query. `floating` are the target's columns of DOUBLE and FLOAT, None if they are not known."""
    sums = facts.float_sums
    if sums is None or sums.columns == ():
        return ()
    function = f"{sums.function} (line {sums.line}, column {sums.column})"
    if floating is None:
        what = f"if {function} adds up DOUBLE or FLOAT, its last digits vary"
        return (_float_sum(what, definition.float_tolerance),)
    columns = summed_columns(definition, facts, floating)
    what = f"{function} in {', '.join(columns)}: its last digits vary"
    return (_float_sum(what, definition.float_tolerance),) if columns else ()


def _float_sum(what: str, tolerance: float) -> Notice:
    noise = f"a difference of at most {tolerance:g} of a value is no change"
    changes = "rows in which nothing else has changed are updated"
    effect = f"{noise if tolerance else changes} (float_tolerance: {tolerance:g})"
    return Notice(code=FLOAT_SUM, message=f"{what}, so {effect}")
