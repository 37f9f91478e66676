"""What the tasks and DAGs of a definition are given: tries, arguments of single tasks, ids, runs at once."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG

from airflow_refresh_provider import (
    Definition,
    RefreshOperator,
    cascade_dag,
    load_definitions,
    refresh_dag,
    refresh_group,
    target_asset,
)
from airflow_refresh_provider.errors import Invalid

BEGINNING = datetime.fromisoformat("2024-01-01T00:00:00+00:00")
ASKED = (3, timedelta(seconds=15))


def definition(name: str = "a", **changes: Any) -> Definition:
    given: dict[str, Any] = {
        "name": name,
        "target": f"/lake/{name}",
        "query": "SELECT k FROM x",
        "inputs": {"x": {"path": "/lake/x"}},
        "keys": ["k"],
    }
    return Definition.build(**(given | changes))


def tries(dag: DAG) -> dict[str, tuple[int | None, timedelta]]:
    return {task.task_id.rpartition(".")[2]: (task.retries, task.retry_delay) for task in dag.tasks}


def test_tasks_are_tried_again_unless_a_dag_says_otherwise() -> None:
    assert set(tries(refresh_dag(definition())).values()) == {ASKED}
    assert set(tries(refresh_dag(definition("b"), default_args={"retries": 1})).values()) == {(1, ASKED[1])}


def test_single_tasks_can_be_given_arguments() -> None:
    merge = {"pool": "spark", "max_active_tis_per_dagrun": 2, "retries": 9}
    dag = refresh_dag(definition(), task_args={"merge": merge}, default_args={"pool": "all"})
    assert {task.task_id: task.pool for task in dag.tasks if task.task_id != "merge"} == dict.fromkeys(
        ("start", "load", "finish", "release"), "all"
    )
    mapped = dag.get_task("merge")
    assert (mapped.pool, mapped.max_active_tis_per_dagrun, mapped.retries) == ("spark", 2, 9)
    with pytest.raises(Invalid, match=r"unknown task 'merg' in task_args. Did you mean merge"):
        refresh_dag(definition("b"), task_args={"merg": {}})


def test_a_failure_runs_its_callback_once() -> None:
    dag = refresh_dag(definition(), default_args={"on_failure_callback": print})
    assert {task.task_id for task in dag.tasks if task.has_on_failure_callback} == {"start", "load", "merge", "finish"}


def test_names_that_differ_by_a_dot_are_groups_of_their_own() -> None:
    dag = cascade_dag("c", [definition("a.b"), definition("a_b")])
    assert {"a-b.start", "a_b.start"} <= set(dag.task_ids)
    with DAG("d", schedule=None, start_date=BEGINNING) as twice:
        refresh_group(definition())
        refresh_group(definition(), group_id="again", tooltip="the same once more")
    assert {"a.start", "again.start"} <= set(twice.task_ids)


def test_a_refresh_that_waits_for_hours_leaves_room_for_one_by_hand() -> None:
    waits = definition(refresh={"on_change": True, "at_most_every": "1 day"})
    assert refresh_dag(waits).max_active_runs == 2
    assert refresh_dag(definition("b", refresh={"on_change": True})).max_active_runs == 1


def test_a_run_that_is_cleared_later_has_the_definition_of_then() -> None:
    assert refresh_dag(definition()).rerun_with_latest_version is True
    assert refresh_dag(definition("b"), rerun_with_latest_version=False).rerun_with_latest_version is False


def test_a_target_in_the_checkout_of_a_bundle_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "bundles" / "mine" / "versions" / "1a2b"
    folder.mkdir(parents=True)
    text = "name: {0}\ntarget: {1}\nkeys: [k]\ninputs: {{x: {{path: ./x}}}}\nquery: SELECT k FROM x\n"
    (folder / "a.yaml").write_text(text.format("a", "./gold/a"))
    (folder / "b.yaml").write_text(text.format("b", "/lake/b"))
    found = load_definitions(folder)
    assert [refresh_dag(one).dag_id for one in found] == ["refresh.a", "refresh.b"]
    monkeypatch.setenv("AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_STORAGE_PATH", str(tmp_path / "bundles"))
    broken, sound = (refresh_dag(one) for one in found)
    assert (broken.dag_id, sound.dag_id) == ("broken.a", "refresh.b")
    assert broken.doc_md and "is inside the folder of a DAG bundle" in broken.doc_md
    assert RefreshOperator(task_id="a", definition=found[0]).definition_name == "broken.a"


def test_a_tag_that_is_too_long_for_airflow_is_cut() -> None:
    assert refresh_dag(definition(tags=["t" * 101])).tags == {"refresh", "t" * 100}


def test_the_asset_of_a_broken_parent_leaves_the_child_alone(tmp_path: Path) -> None:
    (tmp_path / "parent.yaml").write_text("name: parent\n")
    (parent,) = load_definitions(tmp_path)
    dag = refresh_dag(definition(), upstream={"x": target_asset(parent)})
    assert dag.dag_id == "refresh.a"
