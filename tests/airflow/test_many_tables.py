"""A folder of a hundred small definitions in one DAG: all are loaded, and where nothing moved nothing is started."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from deltalake import write_deltalake

from airflow_refresh_provider.spark.connect.endpoint import Endpoint
from tests.airflow.conftest import DAGS
from tests.reading import Seen, read

ROOT = Path(__file__).parents[2]
TABLES = 100
MEGABYTES = 700
"""What one worker may take: Airflow has 160 before its first task, and five hundred are enough for all tables."""

UNREACHABLE = "sc://127.0.0.1:9"
DAG_FILE = """
from datetime import datetime
from airflow.sdk import DAG
from airflow_refresh_provider import RefreshOperator, load_definitions
with DAG("many", schedule=None, start_date=datetime(2024, 1, 1), max_active_tasks=4):
    for definition in load_definitions({folder!r}):
        RefreshOperator(task_id=definition.name, definition=definition, retries=0)
"""
DEFINITION = """
name: small.t{n}
target: ./gold/t{n}
query: SELECT id, amount * 2 AS doubled FROM x
inputs: {{x: {{path: ./silver/t{n}}}}}
keys: [id]
"""


@pytest.fixture
def dag_file(_metadata: None, tmp_path: Path) -> Path:
    """The DAG over a folder of definitions, whose inputs have rows of their own each."""
    for n in range(TABLES):
        (tmp_path / f"t{n}.yaml").write_text(DEFINITION.format(n=n))
        write_deltalake(str(tmp_path / "silver" / f"t{n}"), pa.table({"id": [1, 2, 3], "amount": [n, n + 1, n + 2]}))
    file = DAGS / "many.py"
    file.write_text(DAG_FILE.format(folder=str(tmp_path)))
    return file


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_hundred_small_tables_are_loaded_and_then_left_alone(
    dag_file: Path, tmp_path: Path, spark_server: Endpoint
) -> None:
    first = _run(dag_file, tmp_path, spark_server.url)
    assert (first["state"], len(first["tasks"])) == ("success", TABLES)
    assert set(first["tasks"].values()) == {"success"}
    for n in range(TABLES):
        found = read(tmp_path / "gold" / f"t{n}", "SELECT id, doubled FROM found")
        assert found == Seen([(1, 2 * n), (2, 2 * n + 2), (3, 2 * n + 4)])
    second = _run(dag_file, tmp_path, UNREACHABLE)
    assert (second["state"], set(second["tasks"].values())) == ("success", {"skipped"})
    assert max(first["megabytes"]) < MEGABYTES
    assert max(second["megabytes"]) < MEGABYTES


def _run(dag_file: Path, folder: Path, spark: str) -> dict[str, Any]:
    """One DAG run in a worker of its own."""
    ended = subprocess.run(
        [sys.executable, "-m", "tests.airflow.worker", str(dag_file)],
        cwd=ROOT,
        env={**os.environ, "AIRFLOW_REFRESH_CONTROL": str(folder / "control"), "AIRFLOW_REFRESH_SPARK": spark},
        capture_output=True,
        text=True,
        check=False,
        timeout=3000,
    )
    assert ended.returncode == 0, ended.stderr
    reported: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return reported
