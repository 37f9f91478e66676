"""What the runner needs from the world, as protocols; their fakes are in `airflow_refresh_provider.testing`."""
