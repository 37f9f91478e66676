"""Airflow connections and configuration."""
