"""What Airflow reads about this distribution when it discovers providers.

Airflow asks before its own configuration is ready and at every start of every component: this module imports nothing.
"""


def get_provider_info() -> dict[str, object]:
    return {
        "package-name": "airflow-refresh-provider",
        "name": "Refresh",
        "description": "Keeps Delta tables fresh on Spark: exact refreshes that go on after any crash.",
    }
