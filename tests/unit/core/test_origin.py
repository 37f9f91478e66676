"""What an origin says of who starts such runs."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.run.origin import starter


@pytest.mark.parametrize(
    ("origin", "found"),
    [
        ("http://airflow:8080 sales_mart scheduled__2026-01-01T00:00:00", "sales_mart"),
        (" sales_mart asset_triggered__1", "sales_mart"),
        ("http://airflow:8080 sales_mart manual__2026-01-01T00:00:00", None),
        ("by-hand", None),
        ("", None),
        (None, None),
    ],
)
def test_a_dag_starts_runs_by_itself_and_a_person_does_not(origin: str | None, found: str | None) -> None:
    assert starter(origin) == found
