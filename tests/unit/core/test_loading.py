"""How a load goes about it, from the sizes of what is loaded."""

from __future__ import annotations

from functools import partial

from airflow_refresh_provider.core.definition.choices import Chunking, Visibility
from airflow_refresh_provider.core.plan.choice import LITERAL_KEYS
from airflow_refresh_provider.core.plan.chunking import Limits
from airflow_refresh_provider.core.plan.loading import (
    STAGE_ROWS_BEYOND,
    Splittable,
    direct_splits,
    rewrite_min_rows,
    row_splits,
)

_CHUNKING = Chunking(one_commit_up_to=100, chunk_rows=10)
_LIMITS = Limits(one_commit=100, chunk_rows=10)
_FILES = tuple((f"f{i}", 10) for i in range(8))


def test_a_first_load_that_is_small_enough_is_one_commit() -> None:
    assert direct_splits(0, _CHUNKING, Visibility.WHOLE, None) == ()
    assert direct_splits(400, _CHUNKING, Visibility.WHOLE, None) == (None,)


def test_a_first_load_that_is_seen_as_it_goes_has_ordinary_chunks() -> None:
    assert direct_splits(10, _CHUNKING, Visibility.LIVE, None) == (None,)
    splits = direct_splits(11, _CHUNKING, Visibility.LIVE, Splittable(files=_FILES, rows=11))
    assert splits is not None and len(splits) == 2


def test_a_larger_one_is_cut_by_files_and_staged_where_it_cannot_be() -> None:
    splits = direct_splits(401, _CHUNKING, Visibility.WHOLE, Splittable(files=_FILES, rows=401))
    assert splits is not None
    assert sorted(f for split in splits if split for f in split.files) == [f for f, _ in _FILES]
    assert direct_splits(401, _CHUNKING, Visibility.WHOLE, None) is None
    assert direct_splits(401, _CHUNKING, Visibility.WHOLE, Splittable(files=_FILES[:1], rows=401)) is None


def test_it_is_staged_where_each_split_would_write_small_files_into_many_partitions() -> None:
    chunking = Chunking(one_commit_up_to=1_000_000, chunk_rows=1_000_000)
    load = partial(direct_splits, 8_000_000, chunking, Visibility.WHOLE, Splittable(files=_FILES, rows=8_000_000))
    splits = load(10)
    assert splits is not None and len(splits) == 8
    assert load(11) is None


def test_rows_are_staged_only_for_an_input_that_is_far_larger_than_a_commit() -> None:
    assert row_splits(_LIMITS, Splittable(files=_FILES, rows=STAGE_ROWS_BEYOND * 100)) == ()
    assert len(row_splits(_LIMITS, Splittable(files=_FILES, rows=STAGE_ROWS_BEYOND * 100 + 1))) > 1


def test_a_load_from_very_many_files_is_at_most_two_hundred_commits() -> None:
    many = Splittable(files=tuple((f"f{i:04}", 10) for i in range(4000)), rows=400_000)
    direct = direct_splits(400_000, _CHUNKING, Visibility.WHOLE, many)
    assert direct is not None and len(direct) == len(row_splits(_LIMITS, many)) == 200


def test_a_table_is_rewrite_min_rows_a_share_of_its_rows_on_if_it_is_not_too_large() -> None:
    limits = Limits(one_commit=5_000_000, chunk_rows=1_000_000)
    assert rewrite_min_rows(6_000_000, limits) == 1_200_000
    assert rewrite_min_rows(100, limits) == LITERAL_KEYS + 1
    assert rewrite_min_rows(STAGE_ROWS_BEYOND * 5_000_000 + 1, limits) is None
    assert rewrite_min_rows(None, limits) is None
