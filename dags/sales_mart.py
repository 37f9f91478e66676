"""One DAG for a mart of nine tables in three levels: joins, aggregates, windows, all refreshed incrementally.

Every level reads the versions that the level before has published in the same DAG run.
"""

from datetime import UTC, datetime, timedelta

from airflow_refresh_provider import cascade_dag, load_definitions

cascade_dag(
    "sales_mart",
    load_definitions("sales_mart"),
    schedule=timedelta(minutes=10),
    start_date=datetime(2024, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 3, "retry_delay": timedelta(seconds=15)},
    tags=["refresh", "example"],
)
