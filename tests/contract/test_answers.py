"""Answers of applications in a control root."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from airflow_refresh_provider.delta.control.answers import Answers
from airflow_refresh_provider.delta.control.store import DeltaControlStore

DAY = 24 * 60 * 60


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "control"
    root.mkdir()
    return root


def test_an_answer_is_taken_once_by_its_id(root: Path) -> None:
    answers = Answers(str(root))
    answers.put("sales.orders", "a", "first")
    answers.put("sales.orders", "b", "second")
    assert answers.take("sales.orders", "b") == "second"
    assert answers.take("sales.orders", "b") is None
    assert answers.take("sales.orders", "a") == "first"


def test_an_answer_that_nobody_took_is_dropped_after_a_day(root: Path) -> None:
    answers = Answers(str(root))
    for answer in ("forgotten", "young", "mine"):
        answers.put("orders", answer, answer)
    os.utime(root / "answers" / "orders" / "forgotten.json", (time.time() - 2 * DAY,) * 2)
    assert answers.take("orders", "mine") == "mine"
    assert [p.name for p in (root / "answers" / "orders").iterdir()] == ["young.json"]


def test_a_root_that_is_gone_is_not_made_anew(tmp_path: Path) -> None:
    answers = Answers(str(tmp_path / "gone"))
    answers.put("orders", "a", "late")
    assert answers.take("orders", "a") is None
    assert not (tmp_path / "gone").exists()


def test_a_root_may_be_made_where_an_answer_came_first(root: Path) -> None:
    Answers(str(root)).put("orders", "a", "early")
    assert DeltaControlStore(str(root)).control_id
