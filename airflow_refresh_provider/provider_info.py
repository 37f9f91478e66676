"""What Airflow reads about this distribution when it discovers providers.

Airflow asks before its own configuration is ready and at every start of every component: this module imports nothing.
"""

OPTIONS: dict[str, dict[str, str | None]] = {
    "retries": {
        "description": "Retries of each task of `refresh_dag` and `cascade_dag`; a DAG's own default_args win.",
        "version_added": "0.1.0",
        "type": "integer",
        "example": None,
        "default": "3",
    },
    "retry_delay": {
        "description": "Seconds between the retries of a task of these DAGs; a DAG's own default_args win.",
        "version_added": "0.1.0",
        "type": "float",
        "example": None,
        "default": "15",
    },
    "poll_interval": {
        "description": "Seconds between two polls of the control tables while the definition of a task is paused.",
        "version_added": "0.1.0",
        "type": "float",
        "example": None,
        "default": "10",
    },
    "watch_interval": {
        "description": "Seconds between two polls of an input whose changes start a refresh.",
        "version_added": "0.1.0",
        "type": "float",
        "example": None,
        "default": "5",
    },
}
"""The section `refresh` of airflow.cfg."""


CONNECTION_TYPE: dict[str, object] = {
    "connection-type": "airflow_refresh",
    "hook-class-name": "airflow_refresh_provider.hooks.refresh_hook.RefreshHook",
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
            "description": "`local`: the embedded server, if all tasks run on one host; else sc://host:port.",
            "schema": {"type": "string", "default": "local"},
        },
    },
}


def get_provider_info() -> dict[str, object]:
    return {
        "package-name": "airflow-refresh-provider",
        "name": "Refresh",
        "description": "Keeps Delta tables fresh on Spark: exact refreshes that resume after any crash.",
        "integrations": [
            {
                "integration-name": "Delta refresh",
                "external-doc-url": "https://delta.io/",
                "tags": ["software"],
            }
        ],
        "hooks": [
            {"integration-name": "Delta refresh", "python-modules": ["airflow_refresh_provider.hooks.refresh_hook"]}
        ],
        "operators": [
            {
                "integration-name": "Delta refresh",
                "python-modules": [
                    "airflow_refresh_provider.operators.pin_operator",
                    "airflow_refresh_provider.operators.refresh_operators",
                    "airflow_refresh_provider.operators.submit_operator",
                ],
            }
        ],
        "sensors": [
            {
                "integration-name": "Delta refresh",
                "python-modules": ["airflow_refresh_provider.sensors.refresh_sensors"],
            }
        ],
        "triggers": [
            {
                "integration-name": "Delta refresh",
                "python-modules": [
                    "airflow_refresh_provider.triggers.input_trigger",
                    "airflow_refresh_provider.triggers.refresh_trigger",
                ],
            }
        ],
        "notifications": ["airflow_refresh_provider.signals.notifier.RefreshNotifier"],
        "extra-links": [
            "airflow_refresh_provider.task_context.links.RunLink",
            "airflow_refresh_provider.task_context.links.TargetLink",
        ],
        "config": {"refresh": {"description": "Tasks that keep Delta tables fresh.", "options": OPTIONS}},
        "cli": ["airflow_refresh_provider.airflow_cli.commands"],
        "connection-types": [CONNECTION_TYPE],
    }
