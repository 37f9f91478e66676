"""A change of a definition's query: what it was before."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from airflow_refresh_provider.core.text.stored import Stored


class QueryChange(Stored):
    """At this moment the query `before` was replaced by `after`."""

    at: datetime
    before: str
    after: str


class StoredQueryChange(Stored):
    """The query that was replaced, as the events table stores it. `format` is the version of this model."""

    format: int = Field(default=1, le=1)
    before: str
