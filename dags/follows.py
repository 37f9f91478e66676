"""A DAG for each definition in `follows`, begun by the commits that somebody makes to its inputs."""

from airflow_refresh_provider import load_definitions, refresh_dag

for definition in load_definitions("follows"):
    refresh_dag(definition)
