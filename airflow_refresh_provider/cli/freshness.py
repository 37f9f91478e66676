"""Commands about time: whether a refresh is due, and how far targets are behind."""

from __future__ import annotations

from airflow_refresh_provider.cli.call import Call
from airflow_refresh_provider.core.results import DueReport, Freshness


def due(call: Call, name: str) -> DueReport:
    """Whether a refresh is due now."""
    return call.refreshes().due(name)


def freshness(call: Call, name: str | None, why: bool) -> list[Freshness]:
    """How far targets are behind; `why` tells of each input."""
    refreshes = call.refreshes()
    found = refreshes.freshness(name, why=why)
    call.tell_if_none(refreshes, found)
    return found
