"""A DAG for each definition in `refreshes`: load, one merge task for each unit, publish."""

from datetime import timedelta

from airflow_refresh_provider import load_definitions, refresh_dag

for definition in load_definitions("refreshes"):
    # An example is watched: what failed is tried again soon.
    refresh_dag(definition, schedule="@hourly", default_args={"retry_delay": timedelta(seconds=3)})
