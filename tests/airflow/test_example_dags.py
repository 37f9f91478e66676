"""The DAGs in `dags/`: parsed, serialised, and run on real Spark with a little of TPC-H."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from airflow.serialization.serialized_objects import DagSerialization

from airflow_refresh_provider.spark.connect.endpoint import Endpoint
from examples.lake import Lake, change_orders, make
from tests.airflow.conftest import DAGS, Airflow

if TYPE_CHECKING:
    from airflow.sdk import DAG

ROOT = Path(__file__).parents[2]
FILES = {
    "follows.py": "refresh.tpch.large_orders",
    "orders_change.py": "orders_change",
    "refreshes.py": "refresh.tpch.open_orders",
    "sales_mart.py": "sales_mart",
    "small_tables.py": "small_tables",
}
SMALL = {"tpch.customers_by_nation": 125, "tpch.nations": 25, "tpch.suppliers": 100}


@pytest.fixture
def example(airflow: Airflow) -> Iterator[Callable[[str], DAG]]:
    """The one DAG of a file of `dags/`, which lies where Airflow looks, with its definitions beside it."""
    shutil.copytree(ROOT / "dags", DAGS, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    yield lambda file: airflow.dag_of(DAGS / file)
    for definitions in (path for path in (ROOT / "dags").iterdir() if path.is_dir()):
        shutil.rmtree(DAGS / definitions.name, ignore_errors=True)


@pytest.fixture
def lake(connection: Callable[..., None], spark_server: Endpoint) -> Iterator[Lake]:
    """The inputs that the definitions name, and the connection."""
    lake = Lake(DAGS.parent / ".demo")
    lake.root.mkdir()
    make(lake, 0.01)
    connection(control=str(lake.control), spark=spark_server.url)
    yield lake
    shutil.rmtree(lake.root)


@pytest.mark.parametrize(("file", "dag_id"), FILES.items())
def test_an_example_makes_a_scheduled_dag_that_can_be_serialised(
    example: Callable[[str], DAG], file: str, dag_id: str
) -> None:
    dag = example(file)
    kept = DagSerialization.from_dict(DagSerialization.to_dict(dag))
    assert (kept.dag_id, {task.task_id for task in kept.tasks}) == (dag_id, set(dag.task_ids))
    assert kept.timetable.can_be_scheduled or kept.timetable.asset_condition


def test_every_example_is_among_them() -> None:
    assert {path.name for path in (ROOT / "dags").glob("*.py")} == set(FILES)


@pytest.mark.slow
def test_the_phased_example_merges_what_changed_in_four_units(
    airflow: Airflow, example: Callable[[str], DAG], lake: Lake
) -> None:
    dag = example("refreshes.py")
    first = airflow.run(dag)
    assert first.state == "success"
    loaded = _rows(first.returned)["inserted"]
    assert loaded > 1000
    change_orders(lake, one_in=3)
    second = airflow.run(dag)

    assert (second.state, set(second.tasks.values())) == ("success", {"success"})
    assert len(second.returned["load"]) == 4
    rows = _rows(second.returned)
    assert min(rows["inserted"], rows["updated"], rows["deleted"]) > 0
    assert rows["inserted"] + rows["updated"] + rows["unchanged"] == loaded + rows["inserted"] - rows["deleted"]


@pytest.mark.usefixtures("lake")
def test_a_table_follows_what_is_done_to_its_input(airflow: Airflow, example: Callable[[str], DAG]) -> None:
    writes, follows = example("orders_change.py"), example("follows.py")
    assert airflow.run(follows).returned["finish"]["mode"] == "full"
    for _ in range(2):
        version = airflow.run(writes).returned["change"]
        result = airflow.run(follows).returned["finish"]
        assert (result["mode"], result["input_versions"]) == ("incremental", {"orders": version})
        assert sum(result["rows"][what] for what in ("inserted", "updated", "deleted")) > 0


@pytest.mark.usefixtures("lake")
def test_each_small_table_is_a_task_of_its_own(airflow: Airflow, example: Callable[[str], DAG]) -> None:
    dag = example("small_tables.py")
    first = airflow.run(dag)
    assert {task: returned["rows"]["inserted"] for task, returned in first.returned.items()} == SMALL
    assert airflow.run(dag).tasks == dict.fromkeys(SMALL, "skipped")


@pytest.mark.slow
@pytest.mark.usefixtures("lake")
def test_the_sales_mart_is_refreshed_level_by_level(airflow: Airflow, example: Callable[[str], DAG]) -> None:
    """What its refreshes read is in tests/engine/test_sales_mart.py."""
    seen = airflow.run(example("sales_mart.py"))
    assert (seen.state, set(seen.tasks.values())) == ("success", {"success"})
    assert sum(task.endswith(".finish") for task in seen.tasks) == 9


def _rows(returned: dict[str, Any]) -> dict[str, int]:
    found: dict[str, int] = returned["finish"]["rows"]
    return found
