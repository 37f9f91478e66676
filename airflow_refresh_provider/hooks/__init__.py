"""Doors from Airflow's connections to refreshes."""
