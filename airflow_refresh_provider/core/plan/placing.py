"""Which rows of a change set are in one vnode where the target has no vnodes of its own, in layout plain.

Chunks are made of vnodes, and a chunk writes at least one file into each partition of which it has rows. So the rows of
a partition are in few vnodes, in one where there are many partitions. There a vnode only says which rows are applied
together: it is staged with them and never computed again.
"""

from __future__ import annotations

from airflow_refresh_provider.core.definition.columns import VNODE
from airflow_refresh_provider.core.plan.plan import Target


def partition_columns(target: Target) -> tuple[str, ...]:
    """The columns by which the target is partitioned, if all are columns of the result; none in layout vnode.

    A column that the table fills itself is not: its values are not known before a row is written.
    """
    written = {column.name.lower() for column in target.columns}
    in_result = all(name.lower() in written for name in target.partition_by)
    return target.partition_by if in_result and VNODE not in target.partition_by else ()


def parts_of_partition(target: Target) -> int | None:
    """Into how many parts the rows of a partition are divided by their keys, each to a vnode of its own.

    None where the vnode follows from the key alone: in layout vnode, and where there are no partitions.
    """
    if not target.partitions or not partition_columns(target):
        return None
    return -(-target.vnodes // target.partitions)
