"""A DAG for each definition in `refreshes`: load, one merge task for each unit, publish."""

from datetime import timedelta

from airflow_refresh_provider import load_definitions, refresh_dag

for definition in load_definitions("refreshes"):
    # A person watches the example: retry soon.
    refresh_dag(definition, schedule="@hourly", default_args={"retry_delay": timedelta(seconds=3)})
