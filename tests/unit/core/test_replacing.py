"""When whole partitions are replaced, and in which chunks."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_refresh_provider.core.definition.columns import Column
from airflow_refresh_provider.core.maintain.plan import Maintenance, Route, Use
from airflow_refresh_provider.core.plan.chunking import Limits
from airflow_refresh_provider.core.plan.plan import Target
from airflow_refresh_provider.core.plan.replacing import (
    PartitionRows,
    ReplaceFacts,
    may_replace,
    replaces,
    rows_lost,
    units,
)

TARGET = Target(
    location="/t",
    table_id="t",
    columns=tuple(Column(name=n, type=t) for n, t in {"Day": "date", "id": "bigint", "x": "double"}.items()),
    vnodes=8,
    deletion_vectors=True,
    partition_by=("Day",),
    partitions=100,
)
FACTS = ReplaceFacts(
    target=TARGET,
    anchors=("day", "id"),
    keys=("id", "Day"),
    only_result=True,
    changed_share=0.5,
    touched_rows=50_000,
)


def of_target(**changes: Any) -> ReplaceFacts:
    return FACTS.model_copy(update={"target": TARGET.model_copy(update=changes)})


def test_partitions_that_touched_values_name_may_be_replaced() -> None:
    assert may_replace(FACTS)
    assert may_replace(FACTS.model_copy(update={"touched_rows": 300, "one_commit": 200}))


@pytest.mark.parametrize(
    "facts",
    [
        of_target(partition_by=()),
        of_target(partition_by=("Day", "x")),
        of_target(partition_by=("Day", "filled_by_the_table")),
        of_target(partition_by=("_vnode",)),
        of_target(columns=(Column(name="Day", type="timestamp"), *TARGET.columns[1:])),
        of_target(kept=(Column(name="other", type="int"),)),
        FACTS.model_copy(update={"anchors": ("id",)}),
        FACTS.model_copy(update={"keys": ("id",)}),
        FACTS.model_copy(update={"only_result": False}),
        FACTS.model_copy(update={"changed_share": None}),
        FACTS.model_copy(update={"changed_share": 0.19}),
        FACTS.model_copy(update={"touched_rows": 10_000}),
    ],
)
def test_others_are_compared(facts: ReplaceFacts) -> None:
    assert not may_replace(facts)


@pytest.mark.parametrize(("rows", "pays"), [(0, True), (50_000, True), (125_000, True), (125_001, False)])
def test_a_fifth_of_the_rows_of_the_partitions_is_expected_to_change(rows: int, pays: bool) -> None:
    assert replaces(FACTS, [PartitionRows(values={"Day": "2026-01-01"}, rows=rows)]) is pays


@pytest.mark.parametrize(("changed", "pays"), [(None, True), (9_999.0, False), (10_000.0, True), (1e9, True)])
def test_the_size_of_the_changes_says_that_fewer_rows_change(changed: float | None, pays: bool) -> None:
    facts = FACTS.model_copy(update={"changed_rows": changed})
    assert replaces(facts, [PartitionRows(values={"Day": "2026-01-01"}, rows=50_000)]) is pays


SIZES = st.dictionaries(
    st.integers(0, 30), st.tuples(st.integers(0, 20), st.integers(0, 20), st.integers(0, 7)), max_size=12
)


@given(SIZES, st.integers(1, 40))
def test_each_partition_is_in_one_chunk_with_all_of_its_rows(sizes: dict[int, tuple[int, int, int]], most: int) -> None:
    before = [PartitionRows(values={"Day": str(day)}, rows=old) for day, (old, _, _) in sizes.items()]
    after = [PartitionRows(values={"Day": str(day)}, rows=new, vnode=v) for day, (_, new, v) in sizes.items()]
    chunks = [chunk for unit in units(before, after, Limits(one_commit=most, chunk_rows=most)) for chunk in unit.chunks]
    named = [int(values["Day"] or "") for chunk in chunks for values in chunk.partitions]
    assert sorted(named) == sorted(day for day, (old, new, _) in sizes.items() if old or new)
    for chunk in chunks:
        days = [int(values["Day"] or "") for values in chunk.partitions]
        assert chunk.counts.deleted == sum(sizes[day][0] for day in days)
        assert chunk.counts.inserted == chunk.staged == sum(sizes[day][1] for day in days)
        assert {sizes[day][2] for day in days} == set(chunk.vnodes)
    vnodes = [vnode for chunk in chunks for vnode in chunk.vnodes]
    assert len(vnodes) == len(set(vnodes))


def test_what_partitions_lose_is_not_made_up_by_others() -> None:
    before = [PartitionRows(values={"Day": day}, rows=10) for day in "ab"]
    after = [PartitionRows(values={"Day": day}, rows=rows, vnode=v) for day, rows, v in (("a", 2, 1), ("b", 30, 2))]
    assert rows_lost(units(before, after, Limits(one_commit=5, chunk_rows=5))) == 8


def by(*restrictions: tuple[str | None, ...] | None) -> Maintenance:
    given = None if restrictions == (None,) else restrictions
    uses = (Use(input="i", start=0, end=1, aliased=True, restrictions=given),)  # type: ignore[arg-type]
    return Maintenance(anchors=("day", "id"), routes=(Route(input="i", values=("h0.d", "h0.i")),), uses=uses)


def test_an_analysis_by_fewer_anchors_restricts_by_what_is_left() -> None:
    narrowed = by(("d", "i"), ("e", None)).narrowed(("Day",))
    assert narrowed is not None
    assert (narrowed.anchors, narrowed.routes[0].values) == (("day",), ("h0.d",))
    assert narrowed.uses[0].restrictions == (("d",), ("e",))


def test_an_input_that_was_read_whole_still_is_and_no_other() -> None:
    narrowed = by(None).narrowed(("day",))
    assert narrowed is not None and narrowed.uses[0].restrictions is None
    assert by(("d", "i"), (None, "j")).narrowed(("day",)) is None
