"""The contracts between modules hold, and each of them bites."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.source import PACKAGE, ROOT

# One forbidden import for each contract, planted where it does not belong.
PLANTED = {
    "Knowledge flows one way, and every module has its place": (
        "ports/planted.py",
        "from airflow_refresh_provider import runner",
    ),
    "Inside core, a room knows only the rooms below it": (
        "core/plan/planted.py",
        "from airflow_refresh_provider.core.run import record",
    ),
    "Inside runner, a room knows only the rooms below it": (
        "runner/hold/planted.py",
        "from airflow_refresh_provider.runner.steps import load",
    ),
    "Inside spark, a room knows only the rooms below it": (
        "spark/connect/planted.py",
        "from airflow_refresh_provider.spark.acts import sql",
    ),
    "Inside delta, a room knows only the rooms below it": (
        "delta/control/planted.py",
        "from airflow_refresh_provider.delta.tables import delta_table",
    ),
    "Inside the evaluation of SQL in memory, a module knows only those below it": (
        "testing/spark_sql/types.py",
        "from airflow_refresh_provider.testing.spark_sql import casts",
    ),
    "Kinds of inputs know neither the runner nor Spark": (
        "inputs/planted.py",
        "from airflow_refresh_provider.runner import refreshes",
    ),
    "Core decides with pydantic, sqlglot and croniter alone": ("core/planted.py", "import yaml"),
    "Only spark talks to Spark": ("delta/planted.py", "import pyspark"),
    "Only the fakes for tests evaluate queries with DuckDB": ("views/planted.py", "import duckdb"),
    "Only delta talks to delta-rs and to object stores": ("spark/planted.py", "import deltalake"),
    "The engine and its command line know nothing of Airflow": ("cli/planted.py", "def late():\n    import airflow"),
    "Only the command line draws on a terminal": ("runner/planted.py", "import rich"),
    "Only the page answers browsers": ("hooks/planted.py", "import jinja2"),
    "No two modules need each other": (
        "host.py",
        "from airflow_refresh_provider import compose",
    ),
}


def check_contracts(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            sys.executable,
            "-c",
            "from importlinter.cli import lint_imports_command as c; c()",
            "--no-cache",
            "--no-logo",
        ],
        cwd=folder,
        env={"PYTHONPATH": str(folder), "PATH": "", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(PACKAGE, tmp_path / PACKAGE.name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / ".importlinter", tmp_path)
    return tmp_path


def test_every_contract_between_modules_is_kept() -> None:
    checked = check_contracts(ROOT)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert f"Contracts: {len(PLANTED)} kept, 0 broken." in checked.stdout


def test_every_contract_notices_the_import_it_forbids(copy: Path) -> None:
    for path, text in PLANTED.values():
        (copy / PACKAGE.name / path).write_text(f"{text}\n")
    checked = check_contracts(copy)
    kept = [name for name in PLANTED if f"{name} BROKEN" not in checked.stdout]
    assert kept == [], checked.stdout + checked.stderr


def test_a_module_outside_the_layers_is_noticed(copy: Path) -> None:
    (copy / PACKAGE.name / "stray.py").write_text('"""A module without a place."""\n')
    checked = check_contracts(copy)
    assert "airflow_refresh_provider.stray" in checked.stdout
    assert checked.returncode == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("delta/planted.py", "from airflow_refresh_provider import spark"),
        ("runner/planted.py", "from airflow_refresh_provider import delta"),
        ("core/planted.py", "from airflow_refresh_provider import ports"),
        ("compose.py", "from airflow_refresh_provider import cli"),
    ],
)
def test_an_import_against_the_flow_is_noticed(copy: Path, path: str, text: str) -> None:
    (copy / PACKAGE.name / path).write_text(f"{text}\n")
    assert "has its place BROKEN" in check_contracts(copy).stdout


def test_the_table_of_layers_is_that_of_the_contract() -> None:
    contract = (ROOT / ".importlinter").read_text().partition("layers =\n")[2].partition("\n\n")[0]
    layers = [set(re.findall(r"\w+", line)) for line in contract.splitlines()]
    table = (ROOT / "CONTRIBUTING.md").read_text().partition("| layer |")[2].partition("\n\n")[0]
    rows = [set(re.findall(r"`(\w+)`", line.split("|")[1])) for line in table.splitlines()[2:]]
    assert rows == layers
