"""What is known about a query after its analysis, as data that is stored with the definition and with every plan."""

from __future__ import annotations

from airflow_refresh_provider.core.text.stored import Stored

ANALYSIS = "10 with sqlglot 30.30.0"
"""Version of the analysis: a number for its rules, and the parser. Facts of another version are computed again."""

CLOCK_CALLS = frozenset(
    {"current_date", "curdate", "current_timestamp", "now", "localtimestamp", "current_time", "unix_timestamp"}
)
"""Clock functions as calls without arguments."""

CLOCK_WORDS = frozenset({"current_date", "current_timestamp", "current_time"})
"""Clock functions that need no parentheses."""


NOT_SUPPORTED = " is not supported in incremental mode"
"""What is said of an obstacle."""


class ClockSpan(Stored):
    """One clock function: its name in lower case, and its characters in the query, `end` not included."""

    function: str
    start: int
    end: int


class DateWord(Stored):
    """Text such as 'today' that Spark may read as a date, and the characters of the literal, `end` not included."""

    text: str
    start: int
    end: int


class Obstacle(Stored):
    """A construct that incremental mode does not support, and its position in the query; both count from 1."""

    what: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.what} (line {self.line}, column {self.column}){NOT_SUPPORTED}"


class FloatSums(Stored):
    """That a query adds up values: the first aggregate function that does, and its position; both count from 1.

    `columns` are the columns of the result that may hold a sum, in lower case, None where any may. The last digits of
    DOUBLE and FLOAT in them depend on the order of the rows.
    """

    function: str
    line: int
    column: int
    columns: tuple[str, ...] | None


class QueryFacts(Stored):
    """A query after its analysis. `tables` are the inputs it reads.

    `row_wise`: each row of the one input gives at most one row of the result, independently of the other rows; such a
    query may be run on parts of its input. `obstacle`: why the result cannot be computed from the changes of its input
    alone; None when it can. `columns`: the names of the result's columns, None where the query does not list them all.
    `float_sums`: whether it has values whose last digits may be others when it is run again. `date_words`: text that is
    a date where it is compared with one.
    """

    analysis: str = ANALYSIS
    tables: tuple[str, ...]
    clock_spans: tuple[ClockSpan, ...]
    row_wise: bool
    obstacle: Obstacle | None = None
    columns: tuple[str, ...] | None = None
    float_sums: FloatSums | None = None
    date_words: tuple[DateWord, ...] = ()

    @property
    def outdated(self) -> bool:
        """Whether another version of the analysis has made them."""
        return self.analysis != ANALYSIS
