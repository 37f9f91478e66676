"""What people should know of a query that is accepted, each with a code that stays the same."""

from __future__ import annotations

from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.plan.inexact import summed_columns
from airflow_refresh_provider.core.query.facts import FloatSums, QueryFacts
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
    if floating is None:
        return (Notice(code=FLOAT_SUM, message=_float_sum(sums, "over DOUBLE or FLOAT", definition)),)
    columns = summed_columns(definition, facts, floating)
    where = f"in {', '.join(columns)}"
    return (Notice(code=FLOAT_SUM, message=_float_sum(sums, where, definition)),) if columns else ()


def _float_sum(sums: FloatSums, where: str, definition: Definition) -> str:
    tolerance = definition.float_tolerance
    noise = f"a difference of at most {tolerance:g} of a value is no change"
    changes = "rows in which nothing else has changed are updated"
    effect = f"{noise if tolerance else changes} (float_tolerance: {tolerance:g})"
    return f"{sums.function} (line {sums.line}, column {sums.column}) {where}: its last digits vary, so {effect}"
