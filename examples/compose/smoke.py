"""A table that is overwritten in each run, and one that is refreshed from it: the DAG of docs/compose.md.

Each run raises ten prices, so the first refresh inserts a thousand rows and every later one updates ten.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime

from airflow.sdk import dag, task

from airflow_refresh_provider import Definition, RefreshOperator

LAKE = os.environ.get("SMOKE_LAKE", "s3://lake/smoke")
ORDERS = 1000
RAISED = 10

definition = Definition.build(
    name="smoke.prices",
    target=f"{LAKE}/prices",
    query="SELECT id, price, price * 1.19D AS price_with_tax FROM orders",
    inputs={"orders": {"path": f"{LAKE}/orders"}},
    keys=["id"],
    # An object store lets two drivers overwrite each other's commits; here there is one.
    single_writer=True,
)


@dag(schedule=None, start_date=datetime(2024, 1, 1, tzinfo=UTC), max_active_runs=1, is_paused_upon_creation=False)
def smoke() -> None:
    @task
    def write_orders() -> int:
        """Write all orders; returns the version of the table."""
        import pyarrow as pa  # type: ignore[import-untyped]
        from deltalake import DeltaTable, write_deltalake

        location = f"{LAKE}/orders"
        version = DeltaTable(location).version() + 1 if DeltaTable.is_deltatable(location) else 0
        prices = [float(n + (version if n < RAISED else 0)) for n in range(ORDERS)]
        write_deltalake(location, pa.table({"id": list(range(ORDERS)), "price": prices}), mode="overwrite")
        return version

    write_orders() >> RefreshOperator(task_id="refresh", definition=definition)


smoke()
