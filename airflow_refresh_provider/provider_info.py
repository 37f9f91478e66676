"""What Airflow reads about this distribution when it discovers providers.

Airflow asks before its own configuration is ready and at every start of every component: this module imports nothing.
"""


def get_provider_info() -> dict[str, object]:
    return {
        "package-name": "airflow-refresh-provider",
        "name": "Refresh",
        "description": "Keeps Delta tables fresh on Spark: exact refreshes that go on after any crash.",
        "integrations": [
            {
                "integration-name": "Delta refresh",
                "external-doc-url": "https://delta.io/",
                "tags": ["software"],
            }
        ],
        "hooks": [{"integration-name": "Delta refresh", "python-modules": ["airflow_refresh_provider.hooks.refresh"]}],
        "operators": [
            {"integration-name": "Delta refresh", "python-modules": ["airflow_refresh_provider.operators.refresh"]}
        ],
        "sensors": [
            {"integration-name": "Delta refresh", "python-modules": ["airflow_refresh_provider.sensors.refresh"]}
        ],
        "triggers": [
            {"integration-name": "Delta refresh", "python-modules": ["airflow_refresh_provider.triggers.refresh"]}
        ],
        "cli": ["airflow_refresh_provider.airflow_cli.commands"],
        "connection-types": [
            {
                "connection-type": "airflow_refresh",
                "hook-class-name": "airflow_refresh_provider.hooks.refresh.RefreshHook",
                "hook-name": "Delta refresh",
                "ui-field-behaviour": {
                    "hidden-fields": ["host", "schema", "login", "password", "port", "extra"],
                    "relabeling": {},
                },
                "conn-fields": {
                    "control": {
                        "label": "Control root",
                        "description": "Where the control tables are: an absolute path or a URI.",
                        "schema": {"type": "string"},
                    },
                    "spark": {
                        "label": "Spark",
                        "description": "`local` for the embedded server, or sc://host:port.",
                        "schema": {"type": "string", "default": "local"},
                    },
                },
            }
        ],
    }
