"""A query as text: its analysis, and its clock functions bound to one moment.

The text is never rewritten. Binding replaces exactly the characters of each clock function by a typed literal;
strings, comments, quoted names and everything else stay. So every position in the bound query has one in the query as
it was written.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime

from airflow_refresh_provider.core.query.facts import ClockSpan, QueryFacts
from airflow_refresh_provider.core.text.wording import offset_of, place_of
from airflow_refresh_provider.errors import Invalid


def analyse(query: str, input_names: Collection[str]) -> QueryFacts:
    """Check that a query is one repeatable SELECT over exactly these inputs. Raises Invalid with the position."""
    # The SQL parser takes a third of a second to import, and most commands analyse no query.
    from airflow_refresh_provider.core.query.analysis import facts_of

    return facts_of(query, tuple(input_names))


def problems_of(query: str, input_names: Collection[str]) -> tuple[list[Invalid], tuple[str, ...] | None]:
    """What is wrong with a query, the first problem of each kind, and the names of its columns where they are known."""
    from airflow_refresh_provider.core.query.analysis import problems_of as found

    return found(query, tuple(input_names))


def bind_clock(query: str, spans: Sequence[ClockSpan], moment: datetime) -> str:
    """The query with each clock function replaced by its value at `moment`, which has a time zone."""
    bound: list[str] = []
    done = 0
    for span in spans:
        bound += (query[done : span.start], literal(span.function, moment))
        done = span.end
    return "".join((*bound, query[done:]))


def bound_place(spans: Sequence[ClockSpan], moment: datetime, offset: int) -> int:
    """Where a character of the query is in the result of `bind_clock`; it is not part of a clock function."""
    before = (span for span in spans if span.end <= offset)
    return offset + sum(len(literal(span.function, moment)) - (span.end - span.start) for span in before)


def written_place(query: str, spans: Sequence[ClockSpan], moment: datetime, place: tuple[int, int]) -> tuple[int, int]:
    """The position in the query itself of a line and column in the result of `bind_clock`.

    A position within a literal is that of the clock function.
    """
    offset = offset_of(bind_clock(query, spans, moment), place)
    for span in spans:
        # Earlier spans are already mapped back: up to here both texts are the same.
        size = len(literal(span.function, moment))
        if offset < span.start + size:
            return place_of(query, min(offset, span.start))
        offset += span.end - span.start - size
    return place_of(query, offset)


def literal(function: str, moment: datetime) -> str:
    """The value of a clock function at a moment, which has a time zone."""
    moment = moment.astimezone(UTC)
    wall = moment.strftime("%H:%M:%S.%f")
    match function:
        case "current_date" | "curdate":
            return f"DATE'{moment:%Y-%m-%d}'"
        case "current_timestamp" | "now":
            return f"TIMESTAMP'{moment:%Y-%m-%d} {wall}+00:00'"
        case "localtimestamp":
            return f"TIMESTAMP_NTZ'{moment:%Y-%m-%d} {wall}'"
        case "current_time":
            return f"TIME'{wall}'"
        case "unix_timestamp":
            return f"{int(moment.timestamp())}L"
        case _:
            raise AssertionError(f"no literal for {function}")
