"""The section `refresh` of `airflow.cfg`; the provider metadata lists the options and their defaults."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import conf

from airflow_refresh_provider.provider_info import OPTIONS

_SECTION = "refresh"


def retrying() -> dict[str, Any]:
    """`retries` and `retry_delay` of refresh tasks: arguments of an operator."""
    seconds = conf.getfloat(_SECTION, "retry_delay", fallback=float(_default("retry_delay")))
    retries = conf.getint(_SECTION, "retries", fallback=int(_default("retries")))
    return {"retries": retries, "retry_delay": timedelta(seconds=seconds)}


def poll_interval() -> float:
    """Seconds between two polls of the control tables while a task is deferred."""
    return conf.getfloat(_SECTION, "poll_interval", fallback=float(_default("poll_interval")))


def watch_interval() -> float:
    """Seconds between two checks of a watched input."""
    return conf.getfloat(_SECTION, "watch_interval", fallback=float(_default("watch_interval")))


def _default(option: str) -> str:
    return str(OPTIONS[option]["default"])
