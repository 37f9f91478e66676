"""The facts of a registered query: stored with its record, or computed again where another version has stored them."""

from __future__ import annotations

from airflow_refresh_provider.core.query.facts import QueryFacts
from airflow_refresh_provider.core.run.record import Record


def facts_of(record: Record) -> QueryFacts:
    """The facts of the definition's query. Raises Invalid if this version refuses what another one has accepted."""
    return record.definition.analyse_query() if record.facts.outdated else record.facts
