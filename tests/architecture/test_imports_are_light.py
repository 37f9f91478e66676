"""Importing the package and asking the command line for help cost next to nothing, and Airflow need not exist."""

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

import airflow_refresh_provider
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.query.facts import ANALYSIS
from airflow_refresh_provider.core.run.record import Record
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

WITHOUT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {package!r}:
            raise ModuleNotFoundError("No module named " + {package!r}, name={package!r})

sys.meta_path.insert(0, Absent())
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
        for name in (
            "airflow_plugin",
            "hooks",
            "operators",
            "sensors",
            "signals",
            "task_context",
            "triggers",
            "assets.py",
            "dag_factory.py",
        )
    }
    files = [path for path in PACKAGE.rglob("*.py") if not of_airflow & {path, *path.parents}]
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in files]
    body = f"import importlib\nfor name in {sorted(names)!r}: importlib.import_module(name.removesuffix('.__init__'))"
    ended = python(WITHOUT.format(package="airflow", body=body))
    assert ended.returncode == 0, ended.stderr


def test_the_command_line_works_where_airflow_is_not_installed(tmp_path: Path) -> None:
    definition = tmp_path / "open_orders.yaml"
    definition.write_text(DEFINITION)
    ended = python(WITHOUT.format(package="airflow", body=RUN_COMMAND.format(arguments=["validate", str(definition)])))
    assert ended.returncode == 0, ended.stderr
    assert "open_orders" in ended.stdout


START_OF_A_RUN = """
import sys
from airflow_refresh_provider.core.run.lifecycle import Event
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.runner.steps.one_task import start
from airflow_refresh_provider.testing.memory_control import MemoryControlStore
from airflow_refresh_provider.testing.memory_lake import MemoryLake
from airflow_refresh_provider.testing.memory_ports import memory_ports

store, lake = MemoryControlStore(), MemoryLake()
record = Record.model_validate_json({record!r})
ports = memory_ports(lake, store)
store.commit(store.read(record.name), record, Event.REGISTER, ports.clock.now())
lake.create("/in/orders", ())
started = start(ports, record.name, Request(origin="dag one"))
assert store.read(record.name).record.run.run_id == started.run_id
assert store.read(record.name).record.run.plan.query != record.definition.query_text
print(*sorted(name for name in sys.modules if name.partition(".")[0] == "sqlglot"))
"""


def test_a_run_starts_from_the_stored_facts_of_its_query_without_the_parser() -> None:
    definition = Definition.build(
        name="open_orders",
        target="/gold/open_orders",
        query="SELECT k, current_date() AS day FROM orders",
        inputs={"orders": {"path": "/in/orders"}},
        keys=["k"],
        mode="full",
    )
    facts = definition.analyse_query()
    stored = Record(name=definition.name, definition=definition, facts=facts).model_dump_json()
    ended = python(START_OF_A_RUN.format(record=stored))
    assert (ended.returncode, ended.stdout.strip()) == (0, ""), ended.stderr
    outdated = Record(
        name=definition.name, definition=definition, facts=facts.model_copy(update={"analysis": "0"})
    ).model_dump_json()
    assert "sqlglot" in python(START_OF_A_RUN.format(record=outdated)).stdout


def test_the_version_of_the_analysis_names_the_parser() -> None:
    assert ANALYSIS.endswith(f"sqlglot {importlib.metadata.version('sqlglot')}")


EVALUATE = """
from airflow_refresh_provider.errors import Invalid
from airflow_refresh_provider.testing.spark_sql.evaluation import evaluate
try:
    evaluate("SELECT 41 AS x", ())
except Invalid as error:
    print(error.code, error.next)
"""


def test_without_duckdb_the_error_names_the_extra() -> None:
    ended = python(WITHOUT.format(package="duckdb", body=EVALUATE))
    assert ended.stdout.split()[0] == "duckdb_missing" and "[testing]" in ended.stdout, ended.stderr


def test_the_absence_of_airflow_is_real() -> None:
    assert "No module named airflow" in python(WITHOUT.format(package="airflow", body="import airflow")).stderr


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
