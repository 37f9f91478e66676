"""Laws of cutting a change set, for every change set."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_refresh_provider.core.plan.chunking import (
    MAX_CHUNKS,
    Limits,
    Piece,
    auto_vnodes,
    cut,
    direct,
    number,
    raised,
    split_files,
)
from airflow_refresh_provider.core.plan.plan import MAX_SLOTS, ChangeCounts, Split, Unit
from airflow_refresh_provider.core.plan.ways import Way

ROWS = st.integers(0, 40)
CHANGES = st.dictionaries(
    st.integers(0, 63), st.builds(ChangeCounts, inserted=ROWS, updated=ROWS, deleted=ROWS), max_size=40
)
LIMITS = st.builds(Limits, one_commit=st.integers(1, 60), chunk_rows=st.integers(1, 40), units=st.integers(1, 40))
FILES = st.lists(st.tuples(st.text("abcdef", min_size=1), st.integers(0, 1000)), unique_by=lambda f: f[0])


def total(pieces: tuple[Piece, ...]) -> ChangeCounts:
    return sum((p.counts for p in pieces), ChangeCounts())


@given(CHANGES, LIMITS)
def test_pieces_keep_the_counts_of_every_vnode(changes: dict[int, ChangeCounts], limits: Limits) -> None:
    found: dict[int, ChangeCounts] = {}
    for piece in cut(changes, limits):
        for vnode, counts in piece.by_vnode.items():
            found[vnode] = found.get(vnode, ChangeCounts()) + counts
    assert found == {v: c for v, c in changes.items() if c.total}


@given(CHANGES, LIMITS)
def test_a_vnode_is_in_one_piece_or_in_ranges_that_tile_all_hashes(
    changes: dict[int, ChangeCounts], limits: Limits
) -> None:
    pieces = cut(changes, limits)
    for vnode in changes:
        holding = [p for p in pieces if vnode in p.by_vnode]
        if len(holding) <= 1:
            assert all(p.keys is None for p in holding)
            continue
        ranges = [p.keys for p in holding if p.keys]
        assert len(ranges) == len(holding)
        assert all(p.vnodes == (vnode,) for p in holding)
        assert (ranges[0].low, ranges[-1].high) == (-(1 << 63), (1 << 63) - 1)
        assert all(a.high + 1 == b.low for a, b in pairwise(ranges))


@given(CHANGES, LIMITS)
def test_a_change_set_that_fits_one_commit_is_one_piece(changes: dict[int, ChangeCounts], limits: Limits) -> None:
    rows = sum(c.total for c in changes.values())
    pieces = cut(changes, limits)
    if rows <= limits.one_commit:
        assert len(pieces) == (1 if rows else 0)
    elif pieces:
        most = raised(limits.chunk_rows, rows)
        assert all(p.counts.total <= 2 * most + 2 for p in pieces)  # each kind of change is rounded


@given(CHANGES, LIMITS, st.dictionaries(st.integers(0, MAX_SLOTS - 1), st.integers(1, 9)))
def test_units_share_no_vnode_and_number_their_chunks_onwards(
    changes: dict[int, ChangeCounts], limits: Limits, after: dict[int, int]
) -> None:
    pieces = cut(changes, limits)
    units = number(pieces, [Way.MERGE] * len(pieces), limits, after)
    assert len(units) <= min(limits.units, MAX_SLOTS)
    assert [u.slot for u in units] == list(range(len(units)))
    owned = [{v for c in u.chunks for v in c.vnodes} for u in units]
    assert sum(map(len, owned)) == len(set().union(*owned))
    for unit in units:
        first = after.get(unit.slot, 0) + 1
        assert [c.number for c in unit.chunks] == list(range(first, first + len(unit.chunks)))
    assert _counts(units) == total(pieces)


@given(FILES, st.integers(1, 12))
def test_splits_hold_every_file_once_in_order_and_none_is_empty(files: list[tuple[str, int]], parts: int) -> None:
    splits = split_files(files, parts)
    assert [path for s in splits for path in s.files] == [path for path, _ in sorted(files)]
    assert len(splits) <= parts
    assert all(s.files for s in splits)
    assert [s.number for s in splits] == list(range(1, len(splits) + 1))


@given(st.integers(2, 8), st.integers(1, 8))
def test_files_of_one_size_are_dealt_out_evenly(parts: int, each: int) -> None:
    splits = split_files([(f"f{i:03}", 10) for i in range(parts * each)], parts)
    assert {len(s.files) for s in splits} == {each}


@given(st.integers(0, 10**12), st.integers(1, 10**7))
def test_auto_vnodes_is_a_power_of_two_with_at_most_half_a_chunk_each(rows: int, chunk_rows: int) -> None:
    vnodes = auto_vnodes(rows, chunk_rows)
    assert vnodes in {1 << i for i in range(11)}
    assert vnodes == 1024 or 2 * rows <= vnodes * chunk_rows


@pytest.mark.parametrize(
    ("splits", "dealt"),
    [
        (0, []),
        (1, [[1]]),
        (2, [[1, 2]]),
        (3, [[1, 3], [2]]),
        (9, [[1, 3, 5, 7, 9], [2, 4, 6, 8]]),
    ],
)
def test_the_splits_of_a_direct_load_are_dealt_to_two_units(splits: int, dealt: list[list[int]]) -> None:
    units = direct([Split(number=i, files=(f"f{i}",)) for i in range(1, splits + 1)])
    assert [u.slot for u in units] == list(range(len(dealt)))
    assert [[c.split.number for c in u.chunks if c.split] for u in units] == dealt
    assert all(c.way is Way.APPEND and c.number == i for u in units for i, c in enumerate(u.chunks, start=1))


def _counts(units: tuple[Unit, ...]) -> ChangeCounts:
    return sum((c.counts for u in units for c in u.chunks), ChangeCounts())


@given(st.dictionaries(st.integers(0, 63), st.builds(ChangeCounts, inserted=st.integers(0, 10**6))), LIMITS)
def test_chunks_are_as_large_as_needed_for_about_two_hundred_of_them(
    changes: dict[int, ChangeCounts], limits: Limits
) -> None:
    rows = sum(c.total for c in changes.values())
    pieces = cut(changes, limits)
    assert len(pieces) <= 2 * MAX_CHUNKS + len(changes)
    assert raised(limits.chunk_rows, rows) in {limits.chunk_rows, -(-rows // MAX_CHUNKS)}


def test_a_load_of_many_rows_in_tiny_chunks_is_cut_into_two_hundred() -> None:
    by_vnode = {vnode: ChangeCounts(inserted=9175) for vnode in range(8)}
    assert len(cut(by_vnode, Limits(one_commit=40, chunk_rows=40))) == 200
