from __future__ import annotations

import os
from pathlib import Path

import pytest

from airflow_refresh_provider.spark.server.process import locked, try_lock


def test_a_lock_is_held_until_the_last_copy_of_its_descriptor_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    descriptor = try_lock(path)
    assert descriptor is not None
    inherited = os.dup(descriptor)
    os.close(descriptor)

    assert try_lock(path) is None
    os.close(inherited)
    again = try_lock(path)
    assert again is not None
    os.close(again)


def test_waiting_for_a_lock_is_bounded(tmp_path: Path) -> None:
    with locked(tmp_path / "lock", 1), pytest.raises(TimeoutError), locked(tmp_path / "lock", 0):
        pass


def test_a_lock_is_free_after_its_block_failed(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="inside"), locked(tmp_path / "lock", 1):
        raise ValueError("inside")

    with locked(tmp_path / "lock", 0):
        pass


def test_a_lock_is_either_shared_or_exclusive(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    shared = [try_lock(path, shared=True), try_lock(path, shared=True)]
    assert None not in shared
    assert try_lock(path) is None
    for descriptor in shared:
        os.close(descriptor or 0)

    alone = try_lock(path)
    assert alone is not None
    assert try_lock(path, shared=True) is None
    os.close(alone)
