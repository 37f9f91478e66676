"""The vnodes of a change set in layout plain: the rows of a partition are in few of them."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.definition.columns import Column
from airflow_refresh_provider.core.plan.placing import partition_columns, parts_of_partition
from airflow_refresh_provider.core.plan.plan import Target


def target(
    partition_by: tuple[str, ...], partitions: int, vnodes: int = 64, columns: tuple[str, ...] = ("k", "Day", "a", "b")
) -> Target:
    return Target(
        location="/gold/t",
        table_id="t",
        columns=tuple(Column(name=name, type="int") for name in columns),
        vnodes=vnodes,
        deletion_vectors=True,
        partition_by=partition_by,
        partitions=partitions,
    )


@pytest.mark.parametrize(("partitions", "parts"), [(1, 64), (3, 22), (63, 2), (64, 1), (2526, 1)])
def test_there_are_about_as_many_parts_as_vnodes_where_partitions_are_few(partitions: int, parts: int) -> None:
    assert parts_of_partition(target(("day",), partitions)) == parts


@pytest.mark.parametrize(
    "one",
    [target((), 0), target(("_vnode",), 64), target(("day",), 0), target(("day",), 9, columns=("k",))],
    ids=["plain", "layout vnode", "not known", "filled by the table"],
)
def test_otherwise_the_key_decides(one: Target) -> None:
    assert parts_of_partition(one) is None


def test_the_partitions_of_layout_vnode_are_none_of_the_user() -> None:
    found = [partition_columns(one) for one in (target(("_vnode",), 64, columns=("_vnode",)), target(("a", "B"), 2))]
    assert found == [(), ("a", "B")]
