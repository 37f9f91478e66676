"""Keyed refreshes of many views, after any changes of their inputs, are what the whole query gives."""

from __future__ import annotations

import re
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_refresh_provider.core.maintain.analysis import maintenance
from tests.unit.maintain.catalogue import CONSTRUCTS, FOLLOWED, INPUTS, UNFOLLOWED
from tests.unit.maintain.keyed import STRUCT, VALUES, Inputs, Row, is_right, whole

_NUMBERS = st.one_of(st.none(), st.integers(0, 3))
_WORDS = st.one_of(st.none(), st.sampled_from("xyz"))
_KINDS = {
    "string": _WORDS,
    "int": _NUMBERS,
    "date": st.sampled_from([*VALUES["date"], date(2000, 2, 1), date(1582, 10, 15), date(9999, 12, 31)]),
    "decimal(10,2)": st.sampled_from(VALUES["decimal(10,2)"]),
    STRUCT: st.one_of(st.none(), st.tuples(_NUMBERS, _WORDS)),
}
ROWS = {name: st.tuples(*(_KINDS[kind] for kind in columns.values())) for name, columns in INPUTS.items()}


@st.composite
def changes(draw: st.DrawFn, name: str) -> tuple[list[Row], list[Row]]:
    """The rows of an input before and after some were removed, added or changed in one column."""
    old = draw(st.lists(ROWS[name], max_size=6))
    keeps = [draw(st.sampled_from([True, True, False])) for _ in old]
    kept = [row for row, stays in zip(old, keeps, strict=True) if stays]
    new = [*kept, *draw(st.lists(ROWS[name], max_size=3))]
    if new and draw(st.sampled_from([True, False])):
        place, column = draw(st.integers(0, len(new) - 1)), draw(st.integers(0, len(INPUTS[name]) - 1))
        other = draw(ROWS[name])
        new[place] = (*new[place][:column], other[column], *new[place][column + 1 :])
    return old, new


def inputs_of(query: str) -> list[str]:
    return [name for name in INPUTS if re.search(rf"(\b(FROM|JOIN)|,|\()\s*{name}\b", query)]


def test_every_construct_of_the_docs_is_proven() -> None:
    assert set(CONSTRUCTS.values()) <= {*FOLLOWED, *UNFOLLOWED}


@pytest.mark.parametrize("examples", [4, pytest.param(80, marks=pytest.mark.slow)], ids=["few", "many"])
@pytest.mark.parametrize("all_keys", [False, True], ids=["one", "all"])
@pytest.mark.parametrize("query", [*FOLLOWED, *UNFOLLOWED])
def test_only_rows_with_touched_anchors_change(query: str, examples: int, all_keys: bool) -> None:
    names = inputs_of(query)
    types = {name: INPUTS[name] for name in names}
    plan = maintenance(query, types, whole({name: [] for name in names}, query)[0] if all_keys else [])
    assert tuple(sorted(plan.unfollowed)) == UNFOLLOWED.get(query, ())

    @settings(max_examples=examples, deadline=None, database=None)
    @given(st.fixed_dictionaries({name: changes(name) for name in names}))
    def always(found: dict[str, tuple[list[Row], list[Row]]]) -> None:
        old: Inputs = {name: rows for name, (rows, _) in found.items()}
        new: Inputs = {name: rows for name, (_, rows) in found.items()}
        assert is_right(plan, query, old, new)

    if plan.anchors:
        always()
