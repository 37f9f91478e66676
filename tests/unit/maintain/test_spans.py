"""Spans of touched values leave out no value that is touched."""

from __future__ import annotations

from itertools import pairwise

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_refresh_provider.core.maintain.rounding import rounded_out
from airflow_refresh_provider.core.maintain.spans import (
    MOST_SPANS,
    Spans,
    column_of,
    columns_in,
    number_of,
    restricting,
    rows_within,
    skips_enough,
    spans_of,
    worth_reading_by_files,
)

NUMBERS = st.one_of(st.integers(-20, 20), st.integers(-(2**63), 2**63 - 1))


def gaps_of(values: list[int], most: int) -> list[tuple[int, int]]:
    ordered = sorted(set(values))
    pairs = [(a, b) for a, b in pairwise(ordered) if b - a > 1]
    return sorted(pairs, key=lambda pair: pair[0] - pair[1])[:most]


@given(st.lists(NUMBERS, min_size=1), st.integers(0, MOST_SPANS - 1))
def test_every_value_is_in_a_span(values: list[int], most: int) -> None:
    found = spans_of("bigint", min(values), max(values), gaps_of(values, most), nulls=False)
    assert found is not None and len(found.spans) <= MOST_SPANS
    assert all(any(low <= value <= high for low, high in found.spans) for value in values)
    assert all(low <= high for low, high in found.spans)


def test_scattered_values_have_one_span_and_clusters_several() -> None:
    scattered = list(range(0, 1000, 7))
    found = spans_of("int", 0, 994, gaps_of(scattered, 31), nulls=False)
    assert found is not None and found.spans == ((0, 1007),)
    clusters = [*range(10), *range(500, 510), *range(990, 1000)]
    found = spans_of("int", 0, 999, gaps_of(clusters, 31), nulls=False)
    assert found is not None and found.spans == ((0, 9), (500, 509), (990, 999))


@pytest.mark.parametrize(
    ("kind", "low", "high", "nulls", "value", "within"),
    [
        ("int", 3, 5, False, "4", True),
        ("int", 3, 5, False, "6", False),
        ("date", 0, 2_932_896, False, "DATE'9999-12-31'", True),
        ("int", 3, 5, True, "NULL::int", True),
        ("int", 3, 5, False, "NULL::int", None),
        ("bigint", -(2**63), -(2**63), False, "(-9223372036854775808)::bigint", True),
        ("date", 0, 1, False, "DATE'1970-01-02'", True),
        ("date", 0, 1, False, "DATE'1970-01-03'", False),
    ],
)
def test_a_condition_is_that_of_its_span(
    kind: str, low: int, high: int, nulls: bool, value: str, within: bool | None
) -> None:
    found = spans_of(kind, low, high, [], nulls=nulls)
    assert found is not None
    assert duckdb.connect().execute(f"SELECT {found.condition(value)}").fetchone() == (within,)


@given(NUMBERS, NUMBERS)
def test_a_span_is_rounded_outwards_and_stays_within_its_type(one: int, other: int) -> None:
    low, high = min(one, other), max(one, other)
    begin, end = rounded_out(low, high, "bigint")
    assert -(2**63) <= begin <= low and high <= end < 2**63
    assert end - begin <= (high - low) * (1 + 2**-4)


def test_scattered_values_have_the_same_span_at_each_refresh() -> None:
    spans = {rounded_out(17 + n, 5_999_000 + n * n, "bigint") for n in range(30)}
    assert spans == {(0, 6_029_311)}


def test_days_before_the_gregorian_calendar_have_no_spans() -> None:
    assert spans_of("date", -150_000, 5, [], nulls=False) is None


@pytest.mark.parametrize(
    ("kind", "value", "condition"),
    [
        ("int", "`k`", "(`k` BETWEEN CAST('1' AS BIGINT) AND CAST('2' AS BIGINT))"),
        (
            "date",
            "date_add(`a``b`, 1)",
            "(try_cast(date_add(`a``b`, 1) AS date) BETWEEN DATE'1970-01-02' AND DATE'1970-01-03')",
        ),
        ("timestamp", "`k`", None),
        ("timestamp", "f(`k`)", "(try_cast(f(`k`) AS timestamp) BETWEEN timestamp_micros(1) AND timestamp_micros(2))"),
    ],
)
def test_an_expression_is_cast_and_a_column_is_as_it_is(kind: str, value: str, condition: str | None) -> None:
    found = spans_of(kind, 1, 2, [], nulls=False)
    assert found is not None and restricting(found, value) == condition


def test_only_numbers_days_and_moments_have_spans() -> None:
    numbered = {kind for kind in ("bigint", "date", "timestamp", "string", "double") if number_of("k", kind)}
    assert numbered == {"bigint", "date", "timestamp"}


@pytest.mark.parametrize(
    ("read", "everything", "enough"),
    [
        (0, 32 << 20, True),
        (0, (32 << 20) - 1, False),
        (50 << 20, 100 << 20, True),
        (51 << 20, 100 << 20, False),
        (0, 0, False),
    ],
)
def test_a_condition_has_to_leave_out_half_and_not_little(read: int, everything: int, enough: bool) -> None:
    assert skips_enough(read, everything) is enough


def test_columns_of_expressions() -> None:
    assert (column_of("`a``b`"), column_of("trunc(`a`, 'MM')")) == ("a`b", None)
    assert columns_in("f(`A`, `b``c`)") == {"a", "b`c"}


@pytest.mark.parametrize("nulls", [True, False])
@pytest.mark.parametrize("value", [1, 2, 3, 5, 7, None])
def test_single_values_are_a_list_in_the_condition(nulls: bool, value: int | None) -> None:
    found = Spans(type="int", spans=((1, 1), (3, 5), (7, 7)), nulls=nulls)
    expected = (True if nulls else None) if value is None else value in (1, 3, 5, 7)
    asked = "NULL::int" if value is None else str(value)
    assert duckdb.connect().execute(f"SELECT {found.condition(asked)}").fetchone() == (expected,)
    assert "v IN (CAST('1' AS BIGINT), CAST('7' AS BIGINT)) OR v BETWEEN" in found.condition("v")


@pytest.mark.parametrize(
    ("spans", "rows"),
    [
        (((5, 5),), 20_001),
        (((5, 5), (9, 9)), 40_002),
        (((0, 999_999),), 1_000_000),
        (((-10, 99_999),), 120_000),
        (((1_000_000, 2_000_000),), 0),
        (tuple((n, n) for n in range(0, 900_000, 10_000)), 1_000_000),
    ],
)
def test_rows_of_sorted_files_are_read_by_pages(spans: tuple[tuple[int, int], ...], rows: int) -> None:
    assert rows_within(Spans(type="bigint", spans=spans), 0, 999_999, 1_000_000) == rows


@pytest.mark.parametrize(
    ("read", "files", "local", "worth"),
    [
        (512, 32, True, True),
        (513, 32, True, False),
        (0, 64, True, True),
        (0, 65, True, False),
        (0, 1, False, False),
    ],
)
def test_a_table_is_read_by_its_files_where_enough_is_left_out(read: int, files: int, local: bool, worth: bool) -> None:
    """Of 1 MB: half of it, and a look at each file."""
    assert worth_reading_by_files(read << 10, 1 << 20, files, local=local) is worth


def test_far_away_a_look_at_a_file_takes_as_long_as_to_read_4_mb() -> None:
    assert worth_reading_by_files(100 << 20, 200 << 20, 25, local=False)
    assert not worth_reading_by_files(100 << 20, 200 << 20, 26, local=False)
