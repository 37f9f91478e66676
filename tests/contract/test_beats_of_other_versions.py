"""Beats of other versions: one that cannot be read is never taken for a dead owner."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_refresh_provider.core.run.owner import BEAT_FORMAT, Beat
from airflow_refresh_provider.delta.control.store import DeltaControlStore
from airflow_refresh_provider.errors import Invalid
from tests.contract.samples import REGISTER, moment, record

RUN, OWN, OTHER = "r1", "unit-1.json", "unit-2.json"


def beaten(root: Path, *others: str) -> DeltaControlStore:
    """A unit of this version that beats, and another one that has written something else."""
    store = DeltaControlStore(str(root))
    store.commit(store.read("orders"), record("orders"), REGISTER, moment(0))
    store.beat("orders", RUN, 1, Beat(generation=3, at=moment(1), waits={1: moment(60)}))
    for other in others:
        (root / "beats" / "orders" / RUN / OTHER).write_text(other)
    return store


def test_a_beat_of_a_newer_version_is_refused_with_what_to_do(tmp_path: Path) -> None:
    newer = f'{{"format": {BEAT_FORMAT + 1}, "generation": 4, "at": "2030-01-01T00:00:00Z", "napping": true}}'
    with pytest.raises(Invalid, match="newer version") as caught:
        beaten(tmp_path, newer).beats("orders", RUN)
    assert caught.value.code == "newer_control_format"
    assert caught.value.next == "Upgrade airflow-refresh-provider here."


@pytest.mark.parametrize("waits", ["", ', "waits": {"2": "2030-01-01T00:01:00Z"}'])
def test_a_beat_of_an_earlier_version_is_a_sign_of_life(tmp_path: Path, waits: str) -> None:
    older = f'{{"format": 1, "generation": 4, "at": "2030-01-01T00:00:00Z"{waits}}}'
    assert {beat.generation for beat in beaten(tmp_path, older).beats("orders", RUN)} == {3, 4}


@pytest.mark.parametrize("text", ["", "{", '{"format": "newest"}', '{"format": 1, "napping": true}'])
def test_what_is_no_beat_of_any_version_is_no_sign_of_life(tmp_path: Path, text: str) -> None:
    assert [beat.generation for beat in beaten(tmp_path, text).beats("orders", RUN)] == [3]
