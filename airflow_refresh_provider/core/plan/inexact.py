"""Which columns of a target are compared within a tolerance: floating point that adds up in no fixed order (ADR 34)."""

from __future__ import annotations

from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.query.facts import QueryFacts


def summed_columns(definition: Definition, facts: QueryFacts, floating: tuple[str, ...]) -> tuple[str, ...]:
    """Of the columns that hold DOUBLE or FLOAT, those whose last digits may be others when the query is run again.

    Keys and partition columns are left out: they say which row it is, and where.
    """
    sums = facts.float_sums
    if sums is None:
        return ()
    exact = {name.lower() for name in (*definition.keys, *definition.partition_by)}
    may_differ = (name for name in floating if sums.columns is None or name.lower() in sums.columns)
    return tuple(name for name in may_differ if name.lower() not in exact)


def inexact_columns(definition: Definition, facts: QueryFacts, floating: tuple[str, ...]) -> tuple[str, ...]:
    """Those of them that are compared within the tolerance: none if it is 0."""
    return summed_columns(definition, facts, floating) if definition.float_tolerance else ()
