"""Operators: each binds an Airflow task to one act of the runner."""
