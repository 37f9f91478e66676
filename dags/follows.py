"""A DAG for each definition in `follows`, started by commits to its inputs."""

from airflow_refresh_provider import load_definitions, refresh_dag

for definition in load_definitions("follows"):
    refresh_dag(definition)
