"""Markers are one number whose order is the order of generation, chunk and kind."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_refresh_provider.core.log.marker import MAX_CHUNK, MAX_GENERATION, Marker, app_ids, seal_app_id
from airflow_refresh_provider.core.plan.plan import MAX_SLOTS

MARKERS = st.builds(Marker, st.integers(1, MAX_GENERATION), st.integers(0, MAX_CHUNK), st.booleans())


@given(MARKERS)
def test_a_marker_survives_its_number(marker: Marker) -> None:
    assert Marker.of(marker.version) == marker
    assert marker.version < 1 << 63


@given(MARKERS, MARKERS)
def test_numbers_are_ordered_by_generation_then_chunk_then_work_after_fence(a: Marker, b: Marker) -> None:
    def rank(m: Marker) -> tuple[int, int, bool]:
        return (m.generation, m.chunk, not m.fence)

    assert (a.version < b.version) == (rank(a) < rank(b))


@pytest.mark.parametrize(
    "marker", [Marker(0, 1), Marker(MAX_GENERATION + 1, 1), Marker(1, -1), Marker(1, MAX_CHUNK + 1)]
)
def test_a_marker_out_of_range_has_no_number(marker: Marker) -> None:
    with pytest.raises(ValueError, match="out of range"):
        _ = marker.version


def test_a_target_has_one_app_id_for_each_slot_and_one_for_seals() -> None:
    ids = app_ids("t")
    assert len(set(ids)) == MAX_SLOTS + 1
    assert seal_app_id("t") in ids
    assert all(i.startswith("t/") for i in ids)
