"""The engine without Connect, inside a Spark application, as spark-submit runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_refresh_provider.spark.server.installation import find
from airflow_refresh_provider.spark.server.jars import delta_jars

_UPSERTED = {"inserted": 2, "updated": 3, "deleted": 0}
_THEN = {"inserted": 3, "updated": 1, "deleted": 5}


@pytest.mark.slow
def test_a_classic_session_does_the_same_acts_with_the_same_results(tmp_path: Path) -> None:
    installation = find(os.environ)
    class_path = os.pathsep.join(str(jar) for jar in delta_jars(installation, os.environ))
    environment = installation.environment(os.environ, tmp_path) | {"PYTHONPATH": os.pathsep.join(sys.path)}

    run = subprocess.run(
        [sys.executable, "-m", "tests.engine.classic_acts", str(tmp_path), class_path],
        env=environment,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )

    assert run.returncode == 0, run.stderr[-3000:]
    assert json.loads((tmp_path / "results.json").read_text(encoding="utf-8")) == {
        "replace_on": _UPSERTED,
        "merge": _THEN,
        "keyed_replace": _UPSERTED,
        "replace_vnodes": _THEN,
        "from nothing": [[10, 0, 10, 0], [0, 10, 0, 10], [0, 0, 0, 0]],
        "touched": [5, 900],
        "statistics": ["COMPUTE STATS", 1],
        "duplicates": 1,
        "refusal": "Spark refuses the query: A column, variable, or function parameter with name `nope` "
        "cannot be resolved, in `nope` (line 1, column 8)",
        "bad value": "bad_value",
        "released": "statement_cancelled",
        "columns": ["v", "k", "a"],
    }
