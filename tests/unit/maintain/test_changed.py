"""Touched values of changed rows that are known."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_refresh_provider.core.definition.columns import Column
from airflow_refresh_provider.core.maintain.changed import chosen, held, net
from airflow_refresh_provider.core.maintain.plan import Hop, Route

ROWS = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", None])))


@given(ROWS, ROWS, ROWS)
def test_rows_that_came_back_have_not_changed(
    removed: list[tuple[object, ...]], added: list[tuple[object, ...]], both: list[tuple[object, ...]]
) -> None:
    found = net([*removed, *both], [*both, *added])
    assert len(found) == len(set(found))
    counts = Counter(added)
    counts.subtract(Counter(removed))
    assert set(found) == {row for row, count in counts.items() if count != 0}


@pytest.mark.parametrize(
    ("values", "columns"),
    [
        (("`h0`.`a`",), ("a",)),
        (("`h0`.`a``b`", "`h0`.`c.d`"), ("a`b", "c.d")),
        (("`h0`.`a` + 1",), None),
        (("`h0`.`a` + `h0`.`b`",), None),
        (("upper(`h0`.`a`)",), None),
        (("`h1`.`a`",), None),
        (("1",), None),
        (("`h0`.`unused`",), None),
    ],
)
def test_own_columns_of_a_row(values: tuple[str, ...], columns: tuple[str, ...] | None) -> None:
    used = ("A", "a`b", "c.d", "more")
    assert Route(input="x", values=values).own_columns(used) == columns


def test_a_row_that_is_joined_has_not_all_values_itself() -> None:
    hop = Hop(input="y", alias="h1", on="true")
    assert Route(input="x", values=("`h0`.`a`",), hops=(hop,)).own_columns(("a",)) is None


@pytest.mark.parametrize(
    ("kind", "value", "holds"),
    [
        ("int", 2**31 - 1, True),
        ("int", 2**31, False),
        ("tinyint", -128, True),
        ("tinyint", -129, False),
        ("bigint", -(2**63), True),
        ("int", True, False),
        ("int", "1", False),
        ("boolean", True, True),
        ("boolean", 1, False),
        ("string", "a", True),
        ("string", ("1.5",), False),
        ("double", 1, False),
        ("double", None, True),
    ],
)
def test_anchors_hold_values_of_their_type(kind: str, value: object, holds: bool) -> None:
    assert held([(value,)], (Column(name="a", type=kind),)) is holds


def test_columns_are_chosen_by_name() -> None:
    assert chosen([(1, 2, 3), (1, 5, 3)], ("A", "b", "C"), ("c", "a")) == {(3, 1)}
