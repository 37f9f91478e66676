"""The page inside Airflow: in its navigation, behind its authentication and permissions."""
