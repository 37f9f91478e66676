"""Names of datasets, as OpenLineage has them for tables in file systems and object stores."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.signals.open_lineage import dataset


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("/lake/gold/orders", ("file", "/lake/gold/orders")),
        ("file:///lake/gold/orders", ("file", "/lake/gold/orders")),
        ("s3://bucket/gold/orders", ("s3://bucket", "gold/orders")),
        ("abfss://c@account.dfs.core.windows.net/gold", ("abfss://c@account.dfs.core.windows.net", "gold")),
        ("s3://bucket", ("s3://bucket", "/")),
    ],
)
def test_a_place_is_a_namespace_and_a_name(place: str, expected: tuple[str, str]) -> None:
    assert dataset(place) == expected
