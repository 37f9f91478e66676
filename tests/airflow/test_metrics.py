"""What Airflow is told to count, by the names that the module of metrics documents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from airflow.sdk.observability import stats

from airflow_refresh_provider.operators import metrics
from tests.airflow.conftest import Airflow
from tests.airflow.shared import Shared
from tests.unit.runner.world import NAME, row

SINGLE = """
from datetime import datetime
from airflow.sdk import DAG
from airflow_refresh_provider.operators.refresh import RefreshOperator
with DAG("counted", schedule=None, start_date=datetime(2024, 1, 1)):
    RefreshOperator(task_id="refresh", definition={definition!r})
"""


def test_commits_and_ends_are_counted(
    airflow: Airflow, share: Callable[..., Shared], monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[str, Any, dict[str, str]]] = []
    monkeypatch.setattr(stats, "incr", lambda name, count=1, *, tags: told.append((name, count, tags)))
    monkeypatch.setattr(stats, "timing", lambda name, took, *, tags: told.append((name, took, tags)))
    monkeypatch.setattr(stats, "gauge", lambda name, value, *, tags: told.append((name, value, tags)))
    shared = share()
    dag = airflow.dag(SINGLE.format(definition=shared.definition))
    airflow.run(dag)
    shared.world.become(row(0, "b"), *[row(i) for i in range(1, 9)])
    airflow.run(dag)
    airflow.run(dag)

    merged = {"definition": NAME, "stage": "merge"}
    assert [(name, count) for name, count, tags in told if tags == merged] == [
        ("refresh.chunks", 1),
        ("refresh.rows", 9),
        ("refresh.chunks", 1),
        ("refresh.rows", 1),
    ]
    states = [tags["state"] for name, _, tags in told if name == "refresh.ended"]
    assert states == ["succeeded", "succeeded", "nothing_to_do"]
    assert sum(name == "refresh.seconds" for name, _, _ in told) == 3
    assert [(name, value) for name, value, _ in told if name in ("refresh.lag", "refresh.late")] == [
        ("refresh.lag", 0),
        ("refresh.late", 0),
    ] * 2
    assert {tags["stage"] for _, _, tags in told if "stage" in tags} == {"merge"}
    documented = {line.split("`")[1] for line in (metrics.__doc__ or "").splitlines() if line.startswith("| `")}
    assert {name for name, _, _ in told} == documented


def test_a_mapped_task_says_in_which_stage_it_is(
    airflow: Airflow, share: Callable[..., Shared], monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[dict[str, str]] = []
    monkeypatch.setattr(stats, "incr", lambda _name, _count=1, *, tags: told.append(tags))
    shared = share(layout="vnode", vnodes=4, visibility="live", chunking={"one_commit_up_to": 1, "chunk_rows": 1})
    body = "from airflow_refresh_provider import Definition, refresh_dag\n"
    airflow.run(airflow.dag(f"{body}refresh_dag(Definition.model_validate({shared.definition!r}))"))
    assert {tags["stage"] for tags in told if "stage" in tags} == {"merge"}
