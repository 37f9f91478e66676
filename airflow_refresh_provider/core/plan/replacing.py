"""Replacing whole partitions with the query's rows: when that is done, and in which chunks.

Where many rows of the touched partitions change, a comparison with the target only finds out what was expected, and
applying the differences writes the partitions anyway. How many change is what the last comparison of touched rows has
found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from airflow_refresh_provider.core.definition.columns import INTEGERS
from airflow_refresh_provider.core.plan.choice import LITERAL_KEYS, REWRITE_TABLE_SHARE
from airflow_refresh_provider.core.plan.chunking import Limits, Piece, number, raised
from airflow_refresh_provider.core.plan.placing import partition_columns
from airflow_refresh_provider.core.plan.plan import ChangeCounts, Chunk, PartitionValues, Target, Unit
from airflow_refresh_provider.core.plan.ways import Way
from airflow_refresh_provider.core.text.stored import Stored

MOST_PARTITIONS = 1_000
"""Each is named in the predicate of its chunk."""
LITERALS = INTEGERS | {"string", "date", "boolean"}
"""Types whose partitions are named exactly by the text of their value."""


class ReplaceFacts(Stored):
    """What decides on it before the partitions are known.

    `anchors` and `keys` are names of columns. `only_result`: nothing in the target has to stay that the query does not
    give. `changed_share`: how many of the touched rows had changed at the last comparison, None before the first.
    `touched_rows`: about how many rows of the target are touched, and `changed_rows` how many would change by the size
    of the changes, if that is known. `one_commit`: so many are applied in one chunk.
    """

    target: Target
    anchors: tuple[str, ...]
    keys: tuple[str, ...]
    only_result: bool
    changed_share: float | None
    touched_rows: float
    changed_rows: float | None = None
    one_commit: int = LITERAL_KEYS


class PartitionRows(Stored):
    """How many rows a partition has, and the vnode in which they are staged."""

    values: PartitionValues
    rows: int
    vnode: int = 0


def may_replace(facts: ReplaceFacts) -> bool:
    """Whether touched values name whole partitions, of which so many rows change that it may pay to replace them."""
    columns = partition_columns(facts.target)
    named = {name.lower() for name in columns}
    types = {c.name.lower(): c.type for c in facts.target.columns}
    exact = bool(named) and named <= _lower(facts.anchors) & _lower(facts.keys)
    if not exact or not all(types[name] in LITERALS for name in named):
        return False
    if facts.target.kept or not facts.only_result:
        return False
    large = facts.touched_rows > min(LITERAL_KEYS, facts.one_commit)
    return large and facts.changed_share is not None and facts.changed_share >= REWRITE_TABLE_SHARE


def replaces(facts: ReplaceFacts, partitions: Iterable[PartitionRows]) -> bool:
    """Whether so many of the rows that these partitions have are expected to change."""
    there = sum(partition.rows for partition in partitions)
    changed = (facts.changed_share or 0.0) * min(there, facts.touched_rows)
    expected = changed if facts.changed_rows is None else min(changed, facts.changed_rows)
    return expected >= REWRITE_TABLE_SHARE * there


def units(before: Iterable[PartitionRows], after: Iterable[PartitionRows], limits: Limits) -> tuple[Unit, ...]:
    """The chunks that replace partitions. `before` is what the target has of them, `after` what is staged.

    Rows written count as inserted, and rows removed as deleted. Each vnode has whole partitions and is in one chunk.
    """
    removed = {_key(partition): partition.rows for partition in before}
    placed: dict[int, list[PartitionValues]] = {}
    counts: dict[int, ChangeCounts] = {}
    for partition in after:
        changed = ChangeCounts(inserted=partition.rows, deleted=removed.get(_key(partition), 0))
        if changed.total:
            placed.setdefault(partition.vnode, []).append(partition.values)
            counts[partition.vnode] = counts.get(partition.vnode, ChangeCounts()) + changed
    pieces = tuple(_pieces(counts, limits))
    numbered = number(pieces, (Way.REPLACE_PARTITIONS for _ in pieces), limits, after={})

    def named(chunk: Chunk) -> Chunk:
        partitions = tuple(values for vnode in chunk.vnodes for values in placed[vnode])
        return chunk.model_copy(update={"partitions": partitions})

    return tuple(unit.model_copy(update={"chunks": tuple(map(named, unit.chunks))}) for unit in numbered)


def _pieces(counts: Mapping[int, ChangeCounts], limits: Limits) -> Iterator[Piece]:
    """Whole vnodes, as many as a chunk may write rows: to remove rows with their partition costs nothing."""
    written = sum(count.inserted for count in counts.values())
    most = limits.one_commit if written <= limits.one_commit else raised(limits.chunk_rows, written)
    together: dict[int, ChangeCounts] = {}
    for vnode, count in sorted(counts.items()):
        if together and sum(c.inserted for c in together.values()) + count.inserted > most:
            yield Piece(by_vnode=together)
            together = {}
        together = {**together, vnode: count}
    if together:
        yield Piece(by_vnode=together)


def rows_lost(planned: Iterable[Unit]) -> int:
    """By how many rows the partitions become smaller, at least: those of a vnode together."""
    counts = (count for unit in planned for chunk in unit.chunks for count in chunk.by_vnode.values())
    return sum(max(0, -count.net) for count in counts)


def _key(partition: PartitionRows) -> tuple[tuple[str, str | None], ...]:
    return tuple(sorted(partition.values.items()))


def _lower(names: Iterable[str]) -> set[str]:
    return {name.lower() for name in names}
