"""What refreshes report to systems beside Airflow: metrics, alerts, lineage."""
