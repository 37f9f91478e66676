"""Keeps Delta tables fresh on Spark: exact refreshes that resume after any crash.

The names below are what other code may rely on. Each is looked up in its module at first use, so importing the
package costs nothing and imports neither Spark nor Airflow.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow_refresh_provider.core.definition.definition import Definition
    from airflow_refresh_provider.dag_factory import cascade_dag, refresh_dag, refresh_group
    from airflow_refresh_provider.definition_files import load_definitions
    from airflow_refresh_provider.hooks.refresh_hook import RefreshHook
    from airflow_refresh_provider.operators.refresh_operators import (
        CleanupOperator,
        RefreshLoadOperator,
        RefreshOperator,
        RefreshReleaseOperator,
        RefreshStartOperator,
        VnodeMergeOperator,
        target_asset,
    )
    from airflow_refresh_provider.operators.submit_operator import RefreshSubmitOperator
    from airflow_refresh_provider.publication import published
    from airflow_refresh_provider.refreshing import cancel, refresh, refresh_several
    from airflow_refresh_provider.sensors.refresh_sensors import (
        RefreshFreshnessSensor,
        RefreshPublishedSensor,
        RefreshStateSensor,
    )
    from airflow_refresh_provider.signals.notifier import RefreshNotifier
    from airflow_refresh_provider.task_context.trigger_form import trigger_form

__version__ = "0.1.0"
__all__ = [
    "CleanupOperator",
    "Definition",
    "RefreshFreshnessSensor",
    "RefreshHook",
    "RefreshLoadOperator",
    "RefreshNotifier",
    "RefreshOperator",
    "RefreshPublishedSensor",
    "RefreshReleaseOperator",
    "RefreshStartOperator",
    "RefreshStateSensor",
    "RefreshSubmitOperator",
    "VnodeMergeOperator",
    "cancel",
    "cascade_dag",
    "load_definitions",
    "published",
    "refresh",
    "refresh_dag",
    "refresh_group",
    "refresh_several",
    "target_asset",
    "trigger_form",
]

_OPERATORS = "airflow_refresh_provider.operators.refresh_operators"
_SENSORS = "airflow_refresh_provider.sensors.refresh_sensors"
_HOME = {
    "CleanupOperator": _OPERATORS,
    "Definition": "airflow_refresh_provider.core.definition.definition",
    "RefreshFreshnessSensor": _SENSORS,
    "RefreshHook": "airflow_refresh_provider.hooks.refresh_hook",
    "RefreshLoadOperator": _OPERATORS,
    "RefreshNotifier": "airflow_refresh_provider.signals.notifier",
    "RefreshOperator": _OPERATORS,
    "RefreshPublishedSensor": _SENSORS,
    "RefreshReleaseOperator": _OPERATORS,
    "RefreshStartOperator": _OPERATORS,
    "RefreshStateSensor": _SENSORS,
    "RefreshSubmitOperator": "airflow_refresh_provider.operators.submit_operator",
    "VnodeMergeOperator": _OPERATORS,
    "cancel": "airflow_refresh_provider.refreshing",
    "cascade_dag": "airflow_refresh_provider.dag_factory",
    "load_definitions": "airflow_refresh_provider.definition_files",
    "published": "airflow_refresh_provider.publication",
    "refresh": "airflow_refresh_provider.refreshing",
    "refresh_dag": "airflow_refresh_provider.dag_factory",
    "refresh_group": "airflow_refresh_provider.dag_factory",
    "refresh_several": "airflow_refresh_provider.refreshing",
    "target_asset": _OPERATORS,
    "trigger_form": "airflow_refresh_provider.task_context.trigger_form",
}


_WITHOUT_AIRFLOW = {"Definition", "cancel", "load_definitions", "published"}
_OLDEST_AIRFLOW = (3, 3)


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name not in _WITHOUT_AIRFLOW:
        _check_airflow(name)
    return getattr(import_module(_HOME[name]), name)


def _check_airflow(name: str) -> None:
    """Raise ImportError where Airflow is missing or too old, before one of its own imports fails less clearly."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        found = version("apache-airflow")
    except PackageNotFoundError:
        found = "none"
    numbers = tuple(map(int, re.findall(r"\d+", found)[:2]))
    if numbers < _OLDEST_AIRFLOW:
        raise ImportError(
            f"{name} needs Apache Airflow 3.3 or newer; found: {found}. Nothing was changed. Upgrade Airflow, or use "
            "the command line `airflow-refresh`, which does without."
        )


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
