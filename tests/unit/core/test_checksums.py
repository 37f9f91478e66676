"""Into how many buckets rows are put, and where their checksums are worth keeping."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.plan.checksums import Checksums, are_kept, buckets_for


@pytest.mark.parametrize("rows", [1, 7, 8, 1_000, 1_000_000, 6_001_215, 33_554_431])
def test_a_bucket_has_eight_rows_at_most(rows: int) -> None:
    buckets = buckets_for(rows)
    assert buckets.bit_count() == 1, "a power of two"
    assert rows / 8 <= buckets <= max(1, rows / 4)


def test_there_are_four_million_buckets_at_most() -> None:
    assert buckets_for(10**12) == 1 << 22


def test_checksums_are_made_again_once_a_table_has_outgrown_its_buckets() -> None:
    known = Checksums(location="/sums", buckets=buckets_for(1_000_000), entries=1, rows=1)
    assert known.suit(2_000_000) and not known.suit(4_000_000)


def test_they_are_kept_up_to_one_changed_row_in_fifty() -> None:
    assert are_kept(20, 1_000) and not are_kept(21, 1_000)
