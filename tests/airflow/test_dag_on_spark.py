"""A phased DAG on real Spark and Delta: units side by side in one table, nothing written that did not change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from deltalake import write_deltalake

from airflow_refresh_provider.spark.connect.endpoint import Endpoint
from tests.airflow.conftest import Airflow
from tests.reading import Seen, read

DAG_FILE = """
from airflow_refresh_provider import load_definitions, refresh_dag
for definition in load_definitions({folder!r}):
    refresh_dag(definition, default_args={{"retries": 0}})
"""
FILE = """
name: sales.orders
target: ./gold
query: SELECT id, amount * 2 AS doubled FROM orders
inputs: {orders: {path: ./silver}}
keys: [id]
layout: vnode
vnodes: 4
visibility: live
chunking: {one_commit_up_to: 1, chunk_rows: 1}
"""


@pytest.mark.slow
def test_a_table_is_loaded_and_then_refreshed_unit_by_unit(
    airflow: Airflow, connection: Callable[..., None], tmp_path: Path, spark_server: Endpoint
) -> None:
    definitions = tmp_path / "refreshes"
    definitions.mkdir()
    (definitions / "orders.yaml").write_text(FILE)
    connection(control=str(tmp_path / "control"), spark=spark_server.url)
    _write(definitions / "silver", {i: i for i in range(12)})
    dag = airflow.dag(DAG_FILE.format(folder=str(definitions)))
    assert dag.dag_id == "refresh.sales.orders"

    first = airflow.run(dag)
    assert (first.state, first.returned["finish"]["rows"]["inserted"]) == ("success", 12)
    _write(definitions / "silver", {i: i + (i < 6) for i in range(12)})
    second = airflow.run(dag)

    assert (second.state, set(second.tasks.values())) == ("success", {"success"})
    assert second.returned["finish"]["rows"] == {"inserted": 0, "updated": 6, "deleted": 0, "unchanged": 6}
    assert len(second.returned["load"]) > 1
    found = read(definitions / "gold", "SELECT id, doubled FROM found")
    assert found == Seen((i, 2 * (i + (i < 6))) for i in range(12))
    assert airflow.run(dag).tasks["start"] == "skipped"


def _write(location: Path, amounts: dict[int, int]) -> None:
    table = pa.table({"id": pa.array(amounts.keys(), pa.int64()), "amount": pa.array(amounts.values(), pa.int64())})
    write_deltalake(str(location), table, mode="overwrite")
