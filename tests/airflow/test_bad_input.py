"""What a task logs when its environment is wrong, and when it is retried: only where that helps. Needs no Spark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from deltalake import write_deltalake

from airflow_refresh_provider.hooks.refresh_hook import RefreshHook
from tests.airflow.conftest import Airflow

PHASED = """
from datetime import timedelta
from airflow_refresh_provider import Definition, refresh_dag
given = Definition.model_validate({definition!r})
again = {{"retries": 1, "retry_delay": timedelta(0)}}
refresh_dag(given, dag_id="bad_input_in_phases", default_args=again)
"""
BY_NAME = """
from datetime import datetime, timedelta
from airflow.sdk import DAG
from airflow_refresh_provider import RefreshOperator
with DAG("bad_input_by_name", schedule=None, start_date=datetime(2024, 1, 1)):
    RefreshOperator(task_id="refresh", definition="ordesr", retries=1, retry_delay=timedelta(0))
"""
UNREACHABLE = "sc://127.0.0.1:9"


@pytest.fixture
def phased(tmp_path: Path) -> str:
    """A DAG whose definition and input are sound."""
    write_deltalake(str(tmp_path / "silver"), pa.table({"id": [1, 2, 3]}))
    definition = {
        "name": "orders",
        "target": str(tmp_path / "gold"),
        "query": "SELECT id FROM x",
        "inputs": {"x": {"path": str(tmp_path / "silver")}},
        "keys": ["id"],
    }
    return PHASED.format(definition=definition)


@pytest.fixture
def fails(airflow: Airflow, capfd: pytest.CaptureFixture[str]) -> Callable[..., None]:
    """Runs a DAG of which one task fails after so many tries, each with this in its log."""

    def check(body: str, task: str, reported: str, *, tries: int) -> None:
        seen = airflow.run(airflow.dag(body))
        broken = [name for name, state in seen.tasks.items() if state == "failed" and name != "release"]
        assert (seen.state, broken, seen.tries[task]) == ("failed", [task], tries)
        log = "".join(capfd.readouterr())
        for part in (reported, "How the data was left: ", "What to do: "):
            assert log.count(part) >= tries, part

    return check


@pytest.mark.usefixtures("connection")
def test_without_a_connection_it_says_what_to_create_and_is_not_tried_again(
    fails: Callable[..., None], phased: str
) -> None:
    said = "neither AIRFLOW_REFRESH_CONTROL nor the connection refresh_default says where the control tables are"
    fails(phased, "start", said, tries=1)


def test_a_broken_connection_is_named_and_not_tried_again(
    fails: Callable[..., None], connection: Callable[..., None], phased: str
) -> None:
    connection(control="data/control")
    said = "the connection refresh_default cannot be used: the control root 'data/control' is neither an absolute path"
    fails(phased, "start", said, tries=1)


def test_an_unknown_name_is_reported_with_its_control_root_and_not_retried(
    fails: Callable[..., None], connection: Callable[..., None], tmp_path: Path
) -> None:
    connection(control=str(tmp_path / "control"), spark=UNREACHABLE)
    said = f"no definition named 'ordesr' is registered in {tmp_path}/control, where no control tables are"
    fails(BY_NAME, "refresh", said, tries=1)
    assert not (tmp_path / "control").exists()


def test_control_tables_that_cannot_be_reached_are_tried_again(
    fails: Callable[..., None], connection: Callable[..., None], phased: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    variables = {"ENDPOINT_URL": "http://127.0.0.1:9", "ALLOW_HTTP": "true", "REGION": "nowhere"}
    for name, value in (variables | {"ACCESS_KEY_ID": "a", "SECRET_ACCESS_KEY": "b"}).items():
        monkeypatch.setenv(f"AWS_{name}", value)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    connection(control="s3://lake/control", spark=UNREACHABLE)
    fails(phased, "start", "failed at s3://lake/control", tries=2)


def test_a_spark_that_does_not_answer_is_named_and_tried_again_and_the_run_is_kept(
    fails: Callable[..., None], connection: Callable[..., None], phased: str, tmp_path: Path
) -> None:
    connection(control=str(tmp_path / "control"), spark=UNREACHABLE)
    fails(phased, "load", "no Spark Connect server answers at sc://127.0.0.1:9", tries=2)
    assert RefreshHook().refreshes().show("orders").run is not None
    assert not (tmp_path / "gold").exists()
