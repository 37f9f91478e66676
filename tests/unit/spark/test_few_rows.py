"""Which statements have their projections interpreted: those that certainly read little."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.spark.acts.few_rows import settings_for


@pytest.mark.parametrize(
    ("rows", "bytes", "few"),
    [
        (0, 0, True),
        (100_000, 8 << 20, True),
        (100_001, 0, False),
        (0, (8 << 20) + 1, False),
        (None, 0, False),
    ],
)
def test_only_statements_that_read_little_are_interpreted(rows: int | None, bytes: int, few: bool) -> None:
    assert bool(settings_for(rows=rows, bytes=bytes)) is few
