"""Whether a result is added up, or groups would be in doubt."""

from __future__ import annotations

from functools import partial

import pytest

from airflow_refresh_provider.core.maintain.plan import Sums
from airflow_refresh_provider.core.strategy.adding import doubt

COUNTED = Sums(inputs=("o",), rows="n", counts=("known",), sums={"total": "known"})
UNCOUNTED = COUNTED.model_copy(update={"sums": {"total": "known", "revenue": None}})
WITH_ENDS = COUNTED.model_copy(update={"greatest": ("last",)})

small_groups = partial(doubt, rows=600_000, groups=150_000)


@pytest.mark.parametrize("sums", [COUNTED, UNCOUNTED, WITH_ENDS])
def test_rows_that_came_are_always_added(sums: Sums) -> None:
    assert small_groups(sums, adds_only=True) is None


def test_rows_that_went_are_subtracted_where_all_values_are_counted() -> None:
    assert small_groups(COUNTED, adds_only=False) is None


def test_a_sum_that_nothing_counts_is_not_subtracted_from() -> None:
    found = doubt(UNCOUNTED, adds_only=False, rows=None, groups=1)
    assert found is not None and found.text.endswith("values are left in revenue")


def test_the_greatest_value_of_a_small_group_may_have_gone() -> None:
    found = small_groups(WITH_ENDS, adds_only=False)
    assert found is not None and "values of last" in found.text


@pytest.mark.parametrize(("rows", "groups"), [(6_000_000, 150_000), (600, 150), (None, 150_000)])
def test_in_large_groups_and_small_tables_it_is_tried(rows: int | None, groups: int) -> None:
    assert doubt(WITH_ENDS, adds_only=False, rows=rows, groups=groups) is None
