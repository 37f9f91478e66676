"""The list of Spark's functions is that of the installed Spark."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_refresh_provider.core.query import spark_functions
from airflow_refresh_provider.spark.server.installation import find


@pytest.mark.slow
def test_the_list_is_what_the_registry_of_spark_says(tmp_path: Path) -> None:
    environment = find(os.environ).environment(os.environ, tmp_path) | {"PYTHONPATH": os.pathsep.join(sys.path)}
    asked = subprocess.run(
        [sys.executable, "-m", "tests.engine.spark_registry"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert asked.returncode == 0, asked.stderr[-3000:]
    assert asked.stdout == Path(str(spark_functions.__file__)).read_text(encoding="utf-8")
