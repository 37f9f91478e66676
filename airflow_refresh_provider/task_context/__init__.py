"""What surrounds a task in Airflow: its context, trigger form, links, metrics and log."""
