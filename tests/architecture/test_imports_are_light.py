"""Importing the package and asking the command line for help cost next to nothing, and Airflow need not exist."""

import subprocess
import sys
from pathlib import Path

import pytest

import airflow_refresh_provider
from tests.architecture.source import PACKAGE, ROOT

HEAVY = {
    "airflow",
    "arro3",
    "delta",
    "deltalake",
    "grpc",
    "numpy",
    "obstore",
    "pandas",
    "pyarrow",
    "pyspark",
    "sqlglot",
}

REPORT = """
import sys
{body}
print(*sorted({{name.partition(".")[0] for name in sys.modules}}), file=sys.stderr)
"""

WITHOUT_AIRFLOW = """
import sys

class NoAirflow:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "airflow":
            raise ModuleNotFoundError("No module named 'airflow'", name="airflow")

sys.meta_path.insert(0, NoAirflow())
{body}
"""

RUN_COMMAND = """
import runpy
sys.argv = ["airflow-refresh", *{arguments!r}]
try:
    runpy.run_module("airflow_refresh_provider.cli.main", run_name="__main__")
except SystemExit as end:
    assert not end.code, end.code
"""

DEFINITION = """
name: open_orders
target: ./open_orders
query: SELECT o_orderkey FROM orders
inputs:
  orders: {path: ./orders}
keys: [o_orderkey]
"""


def python(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "body",
    [
        "import airflow_refresh_provider",
        "from airflow_refresh_provider.provider_info import get_provider_info; get_provider_info()",
        RUN_COMMAND.format(arguments=["--help"]),
    ],
    ids=["the package", "the provider's metadata", "the command line's help"],
)
def test_nothing_heavy_is_loaded_by(body: str) -> None:
    ended = python(REPORT.format(body=body))
    assert ended.returncode == 0, ended.stderr
    assert "airflow_refresh_provider" in ended.stderr
    assert HEAVY & set(ended.stderr.split()) == set()


def test_the_engine_and_its_command_line_can_be_imported_where_airflow_is_not_installed() -> None:
    of_airflow = {
        PACKAGE / name
        for name in ("hooks", "operators", "sensors", "task_context", "triggers", "assets.py", "dag_factory.py")
    }
    files = [path for path in PACKAGE.rglob("*.py") if not of_airflow & {path, *path.parents}]
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in files]
    body = f"import importlib\nfor name in {sorted(names)!r}: importlib.import_module(name.removesuffix('.__init__'))"
    ended = python(WITHOUT_AIRFLOW.format(body=body))
    assert ended.returncode == 0, ended.stderr


def test_the_command_line_works_where_airflow_is_not_installed(tmp_path: Path) -> None:
    definition = tmp_path / "open_orders.yaml"
    definition.write_text(DEFINITION)
    ended = python(WITHOUT_AIRFLOW.format(body=RUN_COMMAND.format(arguments=["validate", str(definition)])))
    assert ended.returncode == 0, ended.stderr
    assert "open_orders" in ended.stdout


def test_the_absence_of_airflow_is_real() -> None:
    assert "No module named 'airflow'" in python(WITHOUT_AIRFLOW.format(body="import airflow")).stderr


def test_public_names_mean_the_same_before_and_after_their_modules_are_imported() -> None:
    program = """
import importlib
import airflow_refresh_provider as package
first = {name: getattr(package, name) for name in package.__all__}
for name, thing in first.items():
    module = importlib.import_module(thing.__module__)
    assert thing is getattr(package, name) is getattr(module, name), name
    assert name in dir(package), name
"""
    ended = python(program)
    assert ended.returncode == 0, ended.stderr


def test_a_name_the_package_does_not_have_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'absent'"):
        _ = airflow_refresh_provider.absent
