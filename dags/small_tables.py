"""One DAG for a folder of small tables: each is refreshed by one task, which is as resumable as the phased DAG."""

from datetime import UTC, datetime, timedelta

from airflow.sdk import DAG

from airflow_refresh_provider import RefreshOperator, load_definitions, trigger_form

with DAG(
    "small_tables",
    schedule="@hourly",
    start_date=datetime(2024, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    params=trigger_form(),
    default_args={"retries": 3, "retry_delay": timedelta(seconds=15)},
    tags=["refresh", "example"],
):
    for definition in load_definitions("small_tables"):
        RefreshOperator(task_id=definition.name, definition=definition)
