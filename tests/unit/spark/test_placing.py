"""The vnode of a row of a change set, as text."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.definition.columns import Column
from airflow_refresh_provider.core.plan.plan import Target
from airflow_refresh_provider.spark.acts import placing

_KEY = "xxhash64(CAST(`k` AS bigint))"
_DAY = "pmod(xxhash64(CAST(`Day` AS date)), 16L)"


def target(partitions: int) -> Target:
    columns = (Column(name="k", type="bigint"), Column(name="Day", type="date"))
    return Target(
        location="/gold/t",
        table_id="t",
        columns=columns,
        vnodes=16,
        deletion_vectors=True,
        partition_by=("Day",),
        partitions=partitions,
    )


@pytest.mark.parametrize(
    ("partitions", "sql", "beside"),
    [
        (0, f"CAST(pmod({_KEY}, 16L) AS INT)", ()),
        (5, f"CAST(pmod({_DAY} + pmod({_KEY}, 4L) * 4L, 16L) AS INT)", ("Day",)),
        (16, f"CAST({_DAY} AS INT)", ("Day",)),
    ],
)
def test_it_follows_from_the_partition_and_from_the_key_for_its_parts(
    partitions: int, sql: str, beside: tuple[str, ...]
) -> None:
    assert placing.vnode(target(partitions), ("K",)) == sql
    assert placing.columns_beside_key(target(partitions), ("K",)) == beside
    assert placing.columns_beside_key(target(partitions), ("k", "day")) == ()
