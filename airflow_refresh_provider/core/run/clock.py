"""Whether the clock functions of a definition's query have other values than at its last refresh."""

from __future__ import annotations

from datetime import datetime

from airflow_refresh_provider.core.query.facts import QueryFacts
from airflow_refresh_provider.core.query.query import literal
from airflow_refresh_provider.core.run.record import Published


def clock_moved(published: Published | None, facts: QueryFacts, now: datetime) -> bool:
    """Whether one of them has, or that is not known. `current_date()` is the same for the rest of the day."""
    if published is None or not published.clocked:
        return False
    before = published.started_at
    return before is None or any(literal(c.function, before) != literal(c.function, now) for c in facts.clock_spans)
