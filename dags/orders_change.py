"""Plays the writer of orders: every minute some of them are updated, and some deleted. Needs no Spark."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from airflow.sdk import DAG, task

ORDERS = Path(__file__).parents[1] / ".demo" / "silver" / "orders"
ONE_IN = 500

with DAG(
    "orders_change",
    schedule=timedelta(minutes=1),
    start_date=datetime(2024, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    tags=["example"],
):

    @task
    def change() -> int:
        """Update the price of one order in `ONE_IN`, each time of others; one in twenty of these is deleted."""
        from deltalake import DeltaTable

        orders = DeltaTable(ORDERS)
        turn = orders.version() % ONE_IN
        orders.update(predicate=f"o_orderkey % {ONE_IN} = {turn}", updates={"o_totalprice": "o_totalprice * 1.01"})
        orders.delete(f"o_orderkey % {20 * ONE_IN} = {turn}")
        return orders.version()

    change()
