"""`make demo` and `make up` in a copy of what they need, so that a `.demo/` of the checkout is left alone."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from airflow_refresh_provider import compose
from airflow_refresh_provider.compose import embedded_server
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.places import CONTROL_VARIABLE, Places, resolve
from airflow_refresh_provider.runner.refreshes import Refreshes
from examples import recorded
from examples.local_airflow import CONNECTION
from examples.processes import working_for
from examples.rest import Rest
from examples.stand_alone import MART
from tests.running.site import Acts

ROOT = Path(__file__).parents[2]
LIMIT = 500
LOGIN = re.compile(r"(http://127\.0\.0\.1:\d+)\s.*?password (\S+)\n", flags=re.DOTALL)
YAML = re.compile(r"^```yaml\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(2400)]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The examples without their data."""
    for folder in ("dags", "examples"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def test_the_demo_keeps_every_promise_and_leaves_nothing_running(checkout: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "examples.demo"], cwd=checkout, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.count(" yes ") == 6
    with sqlite3.connect(checkout / ".demo" / "airflow" / "airflow.db") as database:
        assert database.execute("SELECT dag_id FROM dag WHERE NOT is_paused").fetchall() == []
    assert_nothing_is_left(checkout)


def test_an_airflow_of_ones_own_runs_the_examples_and_down_ends_all_of_it(checkout: Path) -> None:
    said = checkout / "said.txt"
    with said.open("w") as out:
        process = subprocess.Popen([sys.executable, "-m", "examples.stand_alone"], cwd=checkout, stdout=out, stderr=out)
    try:
        until(lambda: LOGIN.search(said.read_text()) is not None or process.poll() is not None)
        found = LOGIN.search(said.read_text())
        assert found, said.read_text()
        rest = Rest(*found.groups())
        rest.log_in()
        assert set(rest.health().values()) == {"healthy"}
        assert (rest.import_errors(), rest.dag_ids()) == (
            [],
            {"orders_change", "refresh.tpch.large_orders", "refresh.tpch.open_orders", "sales_mart", "small_tables"},
        )
        assert json.loads(rest.connection(CONNECTION)["extra"])["control"] == str(checkout / ".demo" / "control")
        own, _following = YAML.findall((ROOT / "README.md").read_text())
        (checkout / "dags" / "refreshes" / "my_revenue.yaml").write_text(own)
        until(lambda: "refresh.my_revenue" in rest.dag_ids())
        rest.unpause("refresh.my_revenue")
        until(lambda: "success" in Acts(rest).runs("refresh.my_revenue").values())
        until(lambda: "incremental" in _modes(rest, "refresh.tpch.large_orders"))
        _the_mart_follows(checkout, rest)
        run_id = rest.trigger("small_tables")
        rest.unpause("small_tables")
        until(lambda: "running" in {task.state for task in rest.tasks("small_tables", run_id)})
        second = subprocess.run(
            [sys.executable, "-m", "examples.stand_alone"], cwd=checkout, capture_output=True, text=True, check=False
        )
        assert (second.returncode, "in use" in second.stderr) == (1, True)
        _kill_one_component(checkout, said)
        rest.unpause("refresh.tpch.open_orders")
        refreshes = _refreshes(checkout)
        until(lambda: "tpch.open_orders" in {status.name for status in refreshes.statuses()})
        until(lambda: refreshes.progress("tpch.open_orders").chunks_done > 0)
        refreshes.throttle("tpch.open_orders", 100)  # or it may be done before it is stopped
        until(lambda: refreshes.progress("tpch.open_orders").chunks_done > 4)
        assert 12 <= (refreshes.progress("tpch.open_orders").chunks_total or 0) <= 20
        down = subprocess.run(
            [sys.executable, "-m", "examples.take_down"], cwd=checkout, capture_output=True, text=True, check=False
        )
        assert (down.returncode, process.wait(LIMIT)) == (0, 0), down.stderr + said.read_text()
        assert "The refresh of tpch.open_orders is unfinished" in said.read_text()
        refreshes.throttle("tpch.open_orders", 0)
        resumed = refreshes.run("tpch.open_orders", Request())
        assert (resumed.outcome, resumed.resumed) == ("succeeded", True), "the command line goes on at once"
        assert resumed.chunks.skipped > 4
        embedded_server(_places(checkout)).stop()
    finally:
        process.terminate()
        process.wait(LIMIT)
    assert_nothing_is_left(checkout)


def until(true: Callable[[], bool]) -> None:
    limit = time.monotonic() + LIMIT
    while not true():
        assert time.monotonic() < limit
        time.sleep(0.5)


def assert_nothing_is_left(checkout: Path) -> None:
    assert working_for(checkout / ".demo") == []
    assert recorded.load(checkout / ".demo") == []
    assert not embedded_server(_places(checkout)).status().running


def _kill_one_component(checkout: Path, said: Path) -> None:
    """The triggerer dies; it is started again, and that is said."""
    [triggerer] = [one for one in recorded.load(checkout / ".demo") if one.name == "triggerer"]
    os.kill(triggerer.pid, signal.SIGKILL)
    until(lambda: "Airflow's triggerer has ended" in said.read_text())
    assert "It is started again (1 of 3 times)" in said.read_text()


def _the_mart_follows(checkout: Path, rest: Rest) -> None:
    """Nine tables follow an input that changes every minute: from the third time on all but one incrementally."""
    refreshes = _refreshes(checkout)
    mart = sorted(path.stem for path in (checkout / "dags" / MART).iterdir())
    assert len(mart) == 9
    for times in (1, 2, 3):
        if times > 1:
            until(lambda: bool(refreshes.freshness("mart.orders")[0].lag_seconds))
            if times == 3:  # the tables are compared with their inputs afterwards
                rest.pause("orders_change")
                until(lambda: set(Acts(rest).runs("orders_change").values()) == {"success"})
            rest.trigger(MART)
        until(partial(_succeeded, rest, MART, times))
    newest = {name: refreshes.history(f"mart.{name}")[0] for name in mart}
    followed = [name for name, entry in newest.items() if entry.result and entry.result.mode_code == "changes"]
    assert len(followed) >= 8, newest
    assert [name for name in mart if not refreshes.compare_only(f"mart.{name}").equal] == []
    rest.unpause("orders_change")


def _succeeded(rest: Rest, dag_id: str, times: int) -> bool:
    return list(Acts(rest).runs(dag_id).values()).count("success") >= times


def _places(checkout: Path) -> Places:
    return resolve({CONTROL_VARIABLE: str(checkout / ".demo" / "control")}, lambda: "/", None, None)


def _refreshes(checkout: Path) -> Refreshes:
    """What the command line sees."""
    return compose.refreshes(_places(checkout))


def _modes(rest: Rest, dag_id: str) -> list[str]:
    """How the refreshes of a DAG were done that began by themselves and have ended."""
    ended = [run for run, state in Acts(rest).runs(dag_id).items() if state == "success"]
    assert all(run.startswith(("asset_triggered", "scheduled")) for run in ended)
    finished = [
        run for run in ended if {t.state for t in rest.tasks(dag_id, run) if t.task_id == "finish"} == {"success"}
    ]
    return [rest.returned(dag_id, run, "finish")["mode"] for run in finished]
