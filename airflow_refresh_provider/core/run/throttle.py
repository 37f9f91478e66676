"""The throttle: how many rows a second a run may change, and how long a unit waits for that between two chunks."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from airflow_refresh_provider.core.run.owner import STALE_AFTER, Beat
from airflow_refresh_provider.core.run.record import Record, Run

LONGEST_WAIT = 900.0
"""Seconds between two chunks; a lower rate needs smaller chunks."""

MOST_ROWS = 10**12
"""Rows a second that can be given as a limit."""


def limit_of(record: Record) -> int | None:
    """Rows a second that a run of a definition may change, None without a limit."""
    chosen = record.definition.throttle if record.throttle is None else record.throttle
    return chosen or None


def parallel_units(run: Run, beats: Iterable[Beat], now: datetime) -> int:
    """How many units share the limit: those whose owners give signs of life; one where units follow each other."""
    claims = {claim.generation for claim in run.claims.values()}
    return max(1, len({b.generation for b in beats if b.generation in claims and now - b.at <= STALE_AFTER}))


def waiting_units(run: Run, beats: Iterable[Beat], now: datetime) -> dict[int, datetime]:
    """Until when units wait for their share of the limit, as far as their last signs of life say."""
    if run.lease.owner is None and not run.claims:
        return {}
    recent = [b.waits or {} for b in beats if now - b.at <= STALE_AFTER]
    found = {unit: until for waits in recent for unit, until in waits.items() if until > now}
    return dict(sorted(found.items()))


def wait_seconds(rows: int, seconds: float, limit: int | None, units: int) -> float:
    """How long to wait after a chunk of so many rows that took so many seconds, at an equal share of the limit."""
    if limit is None:
        return 0.0
    return min(max(0.0, rows * units / limit - seconds), LONGEST_WAIT)
