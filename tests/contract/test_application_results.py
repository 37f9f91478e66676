"""Results of Spark applications in a control root."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from airflow_refresh_provider.delta.control.application_results import ApplicationResults
from airflow_refresh_provider.delta.control.store import DeltaControlStore

DAY = 24 * 60 * 60


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "control"
    root.mkdir()
    return root


def test_a_result_is_read_once_by_its_id(root: Path) -> None:
    results = ApplicationResults(str(root))
    results.put("sales.orders", "a", "first")
    results.put("sales.orders", "b", "second")
    assert results.take("sales.orders", "b") == "second"
    assert results.take("sales.orders", "b") is None
    assert results.take("sales.orders", "a") == "first"


def test_a_result_that_is_never_read_is_dropped_after_a_day(root: Path) -> None:
    results = ApplicationResults(str(root))
    for result_id in ("expired", "young", "mine"):
        results.put("orders", result_id, result_id)
    os.utime(root / "application_results" / "orders" / "expired.json", (time.time() - 2 * DAY,) * 2)
    assert results.take("orders", "mine") == "mine"
    assert [p.name for p in (root / "application_results" / "orders").iterdir()] == ["young.json"]


def test_a_root_that_is_gone_is_not_made_again(tmp_path: Path) -> None:
    results = ApplicationResults(str(tmp_path / "gone"))
    results.put("orders", "a", "late")
    assert results.take("orders", "a") is None
    assert not (tmp_path / "gone").exists()


def test_a_root_may_be_made_where_a_result_came_first(root: Path) -> None:
    ApplicationResults(str(root)).put("orders", "a", "early")
    assert DeltaControlStore(str(root)).control_id
