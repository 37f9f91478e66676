"""Alerts of several definitions at once: all that hold now, or what is new since others were reported."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from functools import partial

from airflow_refresh_provider.core.run.alert import Alert, of_state
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.core.run.reported import Reported, news
from airflow_refresh_provider.core.run.reports import DefinitionStatus
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.runner.report.observation import for_each
from airflow_refresh_provider.runner.report.statuses import status


def alerts(ports: Ports, records: Sequence[Record], retention_below: timedelta) -> tuple[Alert, ...]:
    """The alerts of these definitions that hold now. Needs no Spark."""
    return _alerts(ports, for_each(partial(status, ports), records), retention_below)


def new_alerts(
    ports: Ports, records: Sequence[Record], before: Reported, retention_below: timedelta, repeat_after: timedelta
) -> tuple[tuple[Alert, ...], Reported]:
    """What is new of the alerts of these definitions, and what has been reported with it."""
    seen = for_each(partial(status, ports), records)
    found = _alerts(ports, seen, retention_below)
    return news(before, found, {one.name: one for one in seen}, ports.clock.now(), repeat_after)


def _alerts(ports: Ports, seen: Sequence[DefinitionStatus], retention_below: timedelta) -> tuple[Alert, ...]:
    now = ports.clock.now()
    found = (of_state(one, now, retention_below, failures=True) for one in seen)
    return tuple(alert for alert in found if alert)
