"""What a person reads of a refresh: a line in the log and a note of the task, for success, skip and failure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from airflow_refresh_provider.airflow_plugin.run_notes import MOST_CHARACTERS, noted, on_dag_run_failed
from airflow_refresh_provider.airflow_plugin.run_notes import on_dag_run_success as succeeded
from tests.airflow.conftest import Airflow, DagRunSeen, task_log
from tests.airflow.shared import BY_VNODE, Shared
from tests.airflow.test_dags_in_memory import PHASED, SINGLE
from tests.unit.runner.faults import at, disconnected, not_accepted
from tests.unit.runner.world import INPUT, row

CASCADE = """
from airflow_refresh_provider import cascade_dag, load_definitions
cascade_dag("c", load_definitions({folder!r}))
"""
DAGS_OF = """
from airflow_refresh_provider import load_definitions, refresh_dag
for definition in load_definitions({folder!r}):
    refresh_dag(definition)
"""
OTHER = """
from airflow.sdk import DAG
from airflow.providers.standard.operators.python import PythonOperator
with DAG("says_something"):
    PythonOperator(task_id="says", python_callable=lambda ti: ti.xcom_push(key="refresh", value="of another kind"))
"""
UNCHANGED = "no input has changed since the last refresh, and no other writer has changed the target"


def test_each_end_is_a_line_of_the_log_and_a_note(airflow: Airflow, share: Callable[..., Shared]) -> None:
    shared = share(mode="incremental")
    phased = airflow.dag(PHASED.format(definition=shared.definition))
    with task_log() as said:
        airflow.run(phased)
        shared.world.lake.append(INPUT, [row(50)])
        seen = airflow.run(phased)
    line = seen.notes["finish"]
    assert note_of(seen.run_id) == line
    assert line in said
    assert line.startswith("refreshed orders: +1 ~0 -0 rows, 9 unchanged; incremental (x version 2), as changes")
    assert line.endswith(" s") and "; version " in line
    assert "found 1 rows to insert, 0 to update, 0 to delete, 9 unchanged: 1 chunk in 1 unit" in said

    with task_log() as said:
        seen = airflow.run(phased)
    assert f"skipped: {UNCHANGED}" in said
    assert seen.notes["start"] == note_of(seen.run_id) == f"skipped: {UNCHANGED}"


def test_a_refresh_in_one_task_leaves_the_same_notes(airflow: Airflow, share: Callable[..., Shared]) -> None:
    shared = share()
    dag = airflow.dag(SINGLE.format(definition=shared.definition, name="noted"))
    assert airflow.run(dag).notes["refresh"].startswith("refreshed orders: +9 ~0 -0 rows, 0 unchanged; full")
    assert airflow.run(dag).notes["refresh"] == f"skipped: {UNCHANGED}"
    shared.world.lake.append(INPUT, [row(1, "again")])
    seen = airflow.run(dag)
    assert seen.tasks["refresh"] == "failed"
    assert seen.notes["refresh"].startswith(
        "refresh failed: the query's result has more than one row for 1 key, such as #"
    )


def test_the_task_that_fails_second_names_the_first(
    airflow: Airflow, share: Callable[..., Shared], capfd: pytest.CaptureFixture[str]
) -> None:
    shared = share(**BY_VNODE)
    dag, seen = _failed_in_merge(airflow, shared, disconnected)
    [failed] = [name for name, state in seen.tasks.items() if name.startswith("merge") and state == "failed"]
    assert seen.tasks["finish"] == "upstream_failed"
    first = failed.replace("[", "_").rstrip("]")
    unfinished = f"is unfinished and can be resumed (see the log of {first}, which failed first)"
    assert unfinished in _unwrapped(capfd)
    assert seen.notes[failed] == "merge failed: the connection to Spark broke"
    assert note_of(seen.run_id, on_dag_run_failed) == "merge failed: the connection to Spark broke"

    shared.world.lake.append(INPUT, [row(1, "again")])
    airflow.run(dag)
    seen = airflow.run(dag)
    assert (seen.tasks["load"], seen.tasks["release"]) == ("failed", "failed")
    assert "the refresh of orders failed (see the log of load, which failed first)" in _unwrapped(capfd)


def test_the_task_that_fails_second_says_that_a_run_which_can_never_be_finished_was_abandoned(
    airflow: Airflow, share: Callable[..., Shared], capfd: pytest.CaptureFixture[str]
) -> None:
    _, seen = _failed_in_merge(airflow, share(**BY_VNODE), not_accepted)
    assert seen.tasks["release"] == "failed"
    said = _unwrapped(capfd)
    assert "the refresh of orders failed, and its run was abandoned (see the log of merge_" in said
    assert "the next DAG run starts a new one" in said and "can be resumed" not in said


def test_the_note_of_a_person_stays_when_a_dag_run_ends_again(airflow: Airflow, share: Callable[..., Shared]) -> None:
    dag = airflow.dag(SINGLE.format(definition=share().definition, name="noted_by_hand"))
    run_id = airflow.run(dag).run_id
    assert note_of(run_id).startswith("refreshed orders: +9")
    with dag_run(run_id) as ended:
        ended.dag_run_note.content = "of no user"
    assert note_of(run_id).startswith("refreshed orders: +9")
    with dag_run(run_id) as ended:
        ended.dag_run_note.content, ended.dag_run_note.user_id = "seen by ann", "ann"
    assert note_of(run_id) == "seen by ann"


def test_a_dag_run_without_a_refresh_has_no_note(airflow: Airflow) -> None:
    assert note_of(airflow.run(airflow.dag(OTHER)).run_id) == "None"


def test_one_note_has_the_lines_of_all_tasks_equal_ones_once_and_no_more_than_a_note_may_have() -> None:
    assert noted({"refresh": "refreshed a"}) == "refreshed a"
    assert noted({"a": "skipped: x", "b": "refreshed b", "c": "skipped: x"}) == "a, c: skipped: x\nb: refreshed b"
    many = noted({f"task_{i}": f"refreshed table_{i}" for i in range(100)})
    first, *_, last = many.splitlines()
    assert len(many) <= MOST_CHARACTERS and (first, last) == ("task_0: refreshed table_0", "and 64 more")
    mart = noted({f"task_{i}": f"refreshed table_{i}: {'rows and why ' * 20}" for i in range(9)})
    assert len(mart) <= MOST_CHARACTERS
    assert [line.partition(":")[0] for line in mart.splitlines()] == [f"task_{i}" for i in range(9)]
    assert {line.rpartition(" ")[0].split()[-1] for line in mart.splitlines()} <= {"rows", "and", "why"}


def note_of(run_id: str, ended: Callable[..., None] = succeeded) -> str:
    """The note of a DAG run once the scheduler says that it has ended; `dag.test` has it in no session."""
    with dag_run(run_id) as run:
        ended(run)
    with dag_run(run_id) as run:
        return str(run.note)


@contextmanager
def dag_run(run_id: str) -> Iterator[Any]:
    """A DAG run as the database has it; what is changed is stored."""
    from airflow.models.dagrun import DagRun
    from airflow.utils.session import create_session

    with create_session() as session:
        yield session.query(DagRun).filter_by(run_id=run_id).one()


def _failed_in_merge(airflow: Airflow, shared: Shared, how: Callable[[], BaseException]) -> tuple[Any, DagRunSeen]:
    """A DAG whose run has failed in one of its merge tasks."""
    shared.world.run()
    shared.world.become(*[row(i, "b") for i in range(1, 10)])
    dag = airflow.dag(PHASED.format(definition=shared.definition))
    with at(shared.world.lake, "begin /gold", how, nth=3):
        return dag, airflow.run(dag)


def _unwrapped(capfd: pytest.CaptureFixture[str]) -> str:
    """What was logged, however long its lines may be."""
    return " ".join("".join(capfd.readouterr()).split())


def test_all_that_is_wrong_in_a_folder_is_shown(
    airflow: Airflow, tmp_path: Path, connection: Callable[..., None]
) -> None:
    connection(control=str(tmp_path / "control"))
    folder = tmp_path / "refreshes"
    folder.mkdir()
    (folder / "one.yaml").write_text("name: One Two\ntarget: /lake/t\nkeys: k\nquery: SELECT 1 AS k\n")
    (folder / "two.yaml").write_text("name: two\ntarget: s3://u:p@b/t\nkeys: [k]\ninputs: {x: {}}\nquery: SELECT k\n")
    errors = (
        "one.yaml: name:",
        "one.yaml: keys:",
        "one.yaml: inputs:",
        "two.yaml: target:",
        "two.yaml: inputs.x.path:",
    )
    shown = airflow.import_error(CASCADE.format(folder=str(folder)))
    assert [error for error in errors if error not in shown] == []

    from airflow.dag_processing.dagbag import DagBag

    file = folder.parent / "dags.py"
    file.write_text(DAGS_OF.format(folder=str(folder)))
    dags = DagBag(file, bundle_name="dags-folder").dags
    for text in (
        " ".join(str(dag.description) for dag in dags.values()),
        " ".join(str(d.doc_md) for d in dags.values()),
    ):
        assert [error for error in errors if error not in text] == []
