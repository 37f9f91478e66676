"""The command `cancel`: on tables in memory, and on Spark while a statement waits for hours."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from deltalake import write_deltalake

from airflow_refresh_provider.compose import refreshes
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.runner.steps import one_task
from tests.cli.conftest import Program, World
from tests.cli.test_stopping import start
from tests.occupied import busy

NAME = "people_copy"
COPY = f"""
name: {NAME}
target: gold/{NAME}
from: people
inputs:
  people: {{path: silver/people}}
keys: [id]
"""


def opened(registered: World) -> str:
    """The id of a run that waits for the next task of its DAG run."""
    started = one_task.start(registered.refreshes().ports, NAME, Request(origin="dag one"))
    assert started.run_id is not None
    return started.run_id


def test_a_run_is_cancelled_and_shown_so(here: Program, registered: World) -> None:
    run_id = opened(registered)
    found = here("cancel", NAME, "--output", "json")
    assert (found.code, found.json["outcome"], found.json["run_id"]) == (0, "cancelled", run_id)
    shown = here("show", NAME, "--output", "json").json
    assert (shown["health"], shown["last_run"]["code"]) == ("cancelled", "cancelled")
    for command in ("show", "list", "history"):
        assert "cancelled" in here(*([command, NAME] if command != "list" else [command])).out
    assert "the next run resumes it" in here("show", NAME).out
    resumed = here("run", NAME, "--output", "json")
    assert (resumed.code, resumed.json["run_id"], resumed.json["resumed"]) == (0, run_id, True)


def test_a_run_is_abandoned(here: Program, registered: World) -> None:
    run_id = opened(registered)
    found = here("cancel", NAME, "--abandon", "--output", "json")
    assert (found.code, found.json["outcome"], found.json["run_id"]) == (0, "abandoned", run_id)
    entry = here("history", NAME, "--output", "json").json[0]
    assert (entry["run_id"], entry["outcome"]) == (run_id, "cancelled")
    assert here("run", NAME, "--output", "json").json["run_id"] != run_id


def test_a_request_that_comes_too_late_is_refused(here: Program, registered: World) -> None:
    assert here("cancel", NAME, "--output", "json").json["error"]["code"] == "nothing_to_cancel"
    run_id = opened(registered)
    other = here("cancel", NAME, "--run", "another", "--output", "json")
    assert (other.code, other.json["error"]["code"]) == (2, "unknown_run")
    assert here("cancel", NAME, "--run", run_id).code == 0
    assert "to stop it" not in here("progress", NAME).out
    here("run", NAME)
    late = here("cancel", NAME, "--run", run_id, "--output", "json")
    assert (late.code, late.json["error"]["code"]) == (3, "run_over")


@pytest.mark.slow
def test_a_statement_that_would_take_hours_is_interrupted_and_the_next_run_resumes(
    program: Program, spark: str, tmp_path: Path
) -> None:
    people = str(tmp_path / "silver" / "people")
    write_deltalake(people, pa.table({"id": [1, 2], "name": ["a", "b"]}))
    (tmp_path / "copy.yaml").write_text(COPY)
    places = ("--control", "control", "--spark", spark, "--output", "json")
    assert program("register", "copy.yaml", *places).code == 0
    assert program("run", NAME, *places).code == 0
    write_deltalake(people, pa.table({"id": [1, 2, 3], "name": ["a", "c", "d"]}), mode="overwrite")
    with busy(spark):
        run = start("-m", "airflow_refresh_provider.cli.main", "run", NAME, *places, folder=tmp_path)
        assert run.stderr is not None
        while not run.stderr.readline().startswith("prepare"):
            assert run.poll() is None, run.communicate()
        time.sleep(2)  # it waits for a core
        cancelled = program("cancel", NAME, *places, USER="ann")
        out, err = run.communicate(timeout=60)
    assert cancelled.code == 0, cancelled.out
    assert (run.returncode, json.loads(out)["error"]["code"]) == (5, "cancelled"), out + err
    assert "Traceback" not in err
    kept = refreshes(Places(str(tmp_path / "control"), spark, str(tmp_path))).stored(NAME).run
    assert kept is not None and kept.cancelled is not None and kept.cancelled.by == "ann"
    last = program("run", NAME, *places)
    assert last.code == 0, last.out
    assert (last.json["run_id"], last.json["resumed"]) == (kept.run_id, True)
    assert (last.json["rows"]["inserted"], last.json["rows"]["updated"]) == (1, 1)
    assert program("run", NAME, "--compare-only", *places).json["equal"] is True
