"""Pieces of messages."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.text.wording import counted


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [
        (1, "row", "1 row"),
        (0, "row", "0 rows"),
        (2000, "row", "2,000 rows"),
        (1, "incremental refresh", "1 incremental refresh"),
        (30, "incremental refresh", "30 incremental refreshes"),
        (2, "batch", "2 batches"),
        (2, "value", "2 values"),
    ],
)
def test_a_counted_noun_has_its_plural(number: int, noun: str, text: str) -> None:
    assert counted(number, noun) == text
