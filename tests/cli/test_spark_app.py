"""The program for spark-submit, as far as it gets without Spark."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_refresh_provider.core.run.results import ApplicationResult
from airflow_refresh_provider.delta.control.application_results import ApplicationResults
from airflow_refresh_provider.delta.control.store import DeltaControlStore
from tests.cli.conftest import ROOT

PROGRAMS = [ROOT / "spark_apps" / "refresh.py", ROOT / "airflow_refresh_provider" / "spark_apps" / "refresh.py"]


@pytest.mark.parametrize("script", PROGRAMS, ids=["of the checkout", "of the package"])
def test_an_unknown_name_is_reported_on_stdout_in_the_exit_code_and_in_the_result(script: Path, tmp_path: Path) -> None:
    control = str(tmp_path / "control")
    assert DeltaControlStore(control).control_id
    ended = subprocess.run(
        [sys.executable, script, "absent", "--control", control, "--result-id", "a"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert ended.returncode == 2, ended.stderr
    assert json.loads(ended.stdout.splitlines()[-1])["error"]["code"] == "unknown_name"
    error = ApplicationResult.model_validate_json(ApplicationResults(control).take("absent", "a") or "").error
    assert error is not None and (error.kind, error.code) == ("Invalid", "unknown_name")


def test_what_is_submitted_has_nothing_beside_it_that_would_hide_a_library() -> None:
    assert {path.name for path in PROGRAMS[1].parent.glob("*.py")} == {"__init__.py", "refresh.py"}
