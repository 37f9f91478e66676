"""What is known about a query once it has been analysed, and which functions count as clocks."""

from __future__ import annotations

from airflow_refresh_provider.core.text.stored import Stored

CLOCK_CALLS = frozenset(
    {"current_date", "curdate", "current_timestamp", "now", "localtimestamp", "current_time", "unix_timestamp"}
)
"""Clock functions as calls without arguments."""

CLOCK_WORDS = frozenset({"current_date", "current_timestamp", "current_time"})
"""Clock functions that need no parentheses."""


class ClockSpan(Stored):
    """One clock function: its name in lower case, and its characters in the query, `end` not included."""

    function: str
    start: int
    end: int


class QueryFacts(Stored):
    """What a query is. `tables` are the inputs it reads.

    `row_wise`: each row of the one input gives at most one row of the result, whatever the other rows are; such a
    query may be run on parts of its input. `obstacle`: why the result cannot be kept up to date from the changes of its
    input alone, with the position; None when it can. `columns`: the names of the result's columns, None where they are
    not all written down.
    """

    tables: tuple[str, ...]
    clock_spans: tuple[ClockSpan, ...]
    row_wise: bool
    obstacle: str | None = None
    columns: tuple[str, ...] | None = None
