"""What is wrong with Airflow itself, as far as tables get late by it."""

from __future__ import annotations

from airflow.api.common.airflow_health import get_airflow_health

from airflow_refresh_provider.core.run.notice import Notice

_MEANS = {
    "scheduler": "no DAG run starts",
    "triggerer": "paused tasks do not go on, and tables that are refreshed on change are looked at once an hour only",
    "dag_processor": "new and changed definitions are not seen",
}


def notices() -> tuple[Notice, ...]:
    """A notice for each component that is needed and gives no sign of life; one that was never started is not known."""
    health = get_airflow_health()
    return tuple(
        Notice(code=f"{name}_down", message=_message(name, health[name].get(f"latest_{name}_heartbeat"), meaning))
        for name, meaning in _MEANS.items()
        if health[name]["status"] == "unhealthy"
    )


def _message(name: str, last: str | None, meaning: str) -> str:
    since = f"has given no sign of life since {last[:19].replace('T', ' ')} UTC" if last else "does not run"
    return f"the {name.replace('_', ' ')} {since}: {meaning}"
