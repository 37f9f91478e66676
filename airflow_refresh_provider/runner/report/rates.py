"""The rate of a run: rows per second over its newest chunks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from airflow_refresh_provider.ports.control import ProgressRow

_NEWEST = 20
"""Chunks that the rate is computed from: enough to even out, few enough to follow a change."""


def changed_rows(row: ProgressRow) -> int:
    """The rows that a chunk has changed in a vnode."""
    return row.inserted + row.updated + row.deleted


def rate(done: Sequence[ProgressRow], since: datetime) -> float | None:
    """Rows per second of the newest chunks after a moment; None before two of them are done.

    The first of them only says when the others began.
    """
    chunks: dict[tuple[int, int], tuple[datetime, int]] = {}
    for row in done:
        if row.at >= since:
            _, rows = chunks.get((row.unit, row.chunk), (row.at, 0))
            chunks[row.unit, row.chunk] = row.at, rows + changed_rows(row)
    newest = sorted(chunks.values())[-_NEWEST:]
    seconds = (newest[-1][0] - newest[0][0]).total_seconds() if newest else 0.0
    return round(sum(rows for _, rows in newest[1:]) / seconds, 1) if seconds > 0 else None
