"""The wish that a definition rests: nothing of it begins, and a refresh in progress stops before its next chunk."""

from __future__ import annotations

from airflow_refresh_provider.core.record import Record
from airflow_refresh_provider.errors import Paused


def check_not_paused(record: Record) -> None:
    """Raises Paused."""
    if record.paused:
        raise Paused(
            "paused",
            f"{record.name} is paused",
            left="A refresh in progress stands where its last commit left it; nothing of it is lost.",
            next=f"`airflow-refresh resume {record.name}`, then run again; tasks of Airflow go on by themselves.",
        )
