"""Clock functions of a query: found exactly, bound to one moment, and nothing else touched."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_refresh_provider.core.query.query import analyse, bind_clock, written_place
from airflow_refresh_provider.core.text.wording import offset_of, place_of
from airflow_refresh_provider.errors import Invalid

MOMENT = datetime(2026, 1, 1, 0, 0, 0, 123456, tzinfo=UTC)


def bound(query: str, moment: datetime = MOMENT) -> str:
    return bind_clock(query, analyse(query, ("x",)).clock_spans, moment)


def refusal(query: str) -> Invalid:
    with pytest.raises(Invalid) as caught:
        analyse(query, ("x",))
    assert caught.value.next
    return caught.value


@pytest.mark.parametrize(
    ("clock", "literal"),
    [
        ("current_date", "DATE'2026-01-01'"),
        ("CURRENT_DATE()", "DATE'2026-01-01'"),
        ("curdate()", "DATE'2026-01-01'"),
        ("current_timestamp", "TIMESTAMP'2026-01-01 00:00:00.123456+00:00'"),
        ("Current_Timestamp( )", "TIMESTAMP'2026-01-01 00:00:00.123456+00:00'"),
        ("now()", "TIMESTAMP'2026-01-01 00:00:00.123456+00:00'"),
        ("`now`()", "TIMESTAMP'2026-01-01 00:00:00.123456+00:00'"),
        ("now /* not here */ ()", "TIMESTAMP'2026-01-01 00:00:00.123456+00:00'"),
        ("localtimestamp()", "TIMESTAMP_NTZ'2026-01-01 00:00:00.123456'"),
        ("current_time", "TIME'00:00:00.123456'"),
        ("current_time()", "TIME'00:00:00.123456'"),
        ("unix_timestamp()", "1767225600L"),
    ],
)
def test_a_clock_function_becomes_a_literal_of_its_type(clock: str, literal: str) -> None:
    assert bound(f"SELECT {clock} AS t FROM x") == f"SELECT {literal} AS t FROM x"
    assert (
        bound(f"SELECT a FROM x WHERE f({clock}, b) > {clock}") == f"SELECT a FROM x WHERE f({literal}, b) > {literal}"
    )
    assert bound(f"SELECT '😀' AS s,\r\n{clock} t\r\nFROM x") == f"SELECT '😀' AS s,\r\n{literal} t\r\nFROM x"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 'now()', \"current_date\", r'current_timestamp' FROM x",
        "SELECT a FROM x -- now() current_date",
        "SELECT a /* current_timestamp() */ FROM x",
        "SELECT `current_date`, `now()` FROM x",
        "SELECT x.current_date, s.now, s.current_time.b FROM x",
        "SELECT now, localtimestamp, unix_timestamp FROM x",
        "SELECT a AS current_date FROM x",
        "SELECT a current_date FROM x",
        "SELECT current_date.a FROM x AS current_date",
        "WITH now(a) AS (SELECT * FROM x) SELECT * FROM now",
        "SELECT unix_timestamp(a), to_timestamp(b) FROM x",
    ],
)
def test_what_only_looks_like_a_clock_is_left_alone(query: str) -> None:
    assert analyse(query, ("x",)).clock_spans == ()
    assert bound(query) == query


def test_a_clock_may_be_named_like_itself() -> None:
    assert bound("SELECT current_date AS current_date FROM x") == "SELECT DATE'2026-01-01' AS current_date FROM x"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT x.current_date AS a, current_date AS b FROM x",
        "SELECT current_date AS a FROM (SELECT d AS current_date FROM x)",
        "WITH y(current_date) AS (SELECT d FROM x) SELECT a FROM y WHERE current_date > a",
    ],
)
def test_a_clock_word_that_is_also_a_name_is_refused_with_both_ways_out(query: str) -> None:
    error = refusal(query)
    assert "both a clock function and a name" in error.message
    assert "current_date()" in error.next
    assert "`current_date`" in error.next


def test_with_parentheses_the_same_names_are_clear() -> None:
    query = "SELECT x.current_date AS a, current_date() AS b FROM x"
    assert bound(query) == "SELECT x.current_date AS a, DATE'2026-01-01' AS b FROM x"


@pytest.mark.parametrize(
    ("column", "clock"), [("current_date", 10), ("now()", 10), ("date_add(current_date(), 1)", 19), ("x.d - now()", 16)]
)
def test_a_result_column_from_the_clock_needs_a_name(column: str, clock: int) -> None:
    error = refusal(f"SELECT a, {column} FROM x")
    assert (
        error.message == f"query, line 1, column {clock + 1}: a column computed from the clock has no name of its own"
    )


def test_a_clock_in_a_condition_needs_no_name() -> None:
    query = "SELECT a FROM x WHERE d IN (SELECT current_date)"
    assert bound(query) == "SELECT a FROM x WHERE d IN (SELECT DATE'2026-01-01')"


def test_clocks_that_cannot_be_bound_exactly_are_refused() -> None:
    assert "precision" in refusal("SELECT current_time(3) AS t FROM x").message
    assert "schema" in refusal("SELECT builtin.now() AS t FROM x").message


def test_the_moment_is_bound_in_utc_whatever_its_zone() -> None:
    there = MOMENT.astimezone(timezone(timedelta(hours=-5)))
    query = "SELECT current_date AS d, now() AS t, localtimestamp() AS l, unix_timestamp() AS u FROM x"
    assert bound(query, there) == bound(query)


lookalikes = [
    "'it''s now()'",
    "/* current_date */ 0",
    "-- now()\n0",
    "`now()`",
    "a",
    "'\\'now()'",
    "r'now'",
    "'😀'",
    "\r\n1",
]


@given(st.lists(st.sampled_from(["now()", *lookalikes]), max_size=12))
def test_binding_replaces_the_clock_and_not_one_other_character(parts: list[str]) -> None:
    literal = "TIMESTAMP'2026-01-01 00:00:00.123456+00:00'"
    expected = [literal if part == "now()" else part for part in parts]
    assert bound(f"SELECT f({', '.join(parts)}) AS z FROM x") == f"SELECT f({', '.join(expected)}) AS z FROM x"


@given(st.lists(st.sampled_from(["now()", "current_date", "curdate()", "current_time()", "unix_timestamp()", "a"])))
def test_nothing_is_left_to_bind_after_binding(parts: list[str]) -> None:
    once = bound(f"SELECT f({', '.join(parts)}) AS z FROM x")
    assert analyse(once, ("x",)).clock_spans == ()
    assert bound(once) == once


_CLOCKS = ["now()", "current_date", "now /* not\nhere */ (\n)", "CURRENT_TIMESTAMP()", "unix_timestamp( )"]


@given(st.lists(st.sampled_from(_CLOCKS + lookalikes), max_size=8), st.data())
def test_every_place_of_a_bound_query_is_found_in_what_was_written(parts: list[str], data: st.DataObject) -> None:
    parts.insert(data.draw(st.integers(0, len(parts))), "nosuch")
    query = f"SELECT f({', '.join(parts)}) AS z,\n now() AS y\nFROM x"
    facts = analyse(query, ("x",))
    there = bound(query)

    def written(offset: int) -> int:
        return offset_of(query, written_place(query, facts.clock_spans, MOMENT, place_of(there, offset)))

    assert written(there.index("nosuch")) == query.index("nosuch")
    found = [written(offset) for offset in range(len(there) + 1)]
    assert found == sorted(found)
    inside = {offset for span in facts.clock_spans for offset in range(span.start + 1, span.end)}
    assert set(found) == set(range(len(query) + 1)) - inside
    assert all(
        query[at] == there[offset] or at in {span.start for span in facts.clock_spans}
        for offset, at in enumerate(found[:-1])
    )


@given(st.text("a\n\r😀"), st.data())
def test_a_character_is_where_its_line_and_column_are(text: str, data: st.DataObject) -> None:
    offset = data.draw(st.integers(0, len(text)))
    line, column = place_of(text, offset)

    assert offset_of(text, (line, column)) == offset
    assert (text + "$").split("\n")[line - 1][: column - 1] == text[:offset].split("\n")[-1]
