"""Alerts as a table."""

from __future__ import annotations

from airflow_refresh_provider.core.run.alert import Alert
from airflow_refresh_provider.views import formats
from airflow_refresh_provider.views.result_table import Cell, row


@row.register
def _(value: Alert) -> dict[str, Cell]:
    return {
        "name": value.name,
        "about": value.about.value,
        "code": value.code,
        "news": value.news.value if value.news else None,
        "since": formats.time(value.since),
        "run": value.command,
    }
