"""Temporal filters as conditions of SQL at two moments. Needs no parser."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from airflow_refresh_provider.core.maintain.plan import TemporalFilter
from airflow_refresh_provider.core.query.query import literal

MARKER = "AIRFLOW_REFRESH_CLOCK_"
MARKED = re.compile(rf"{MARKER}(\w+)\(\)")
"""What stands for a clock function in a filter."""


def turned(filters: Iterable[TemporalFilter], before: datetime, now: datetime) -> dict[str, str]:
    """Input -> the condition that a row of it has come into the result since a moment, or left it, by time alone."""
    found: dict[str, list[str]] = {}
    for one in filters:
        was, now_is = (_at(one.sql, moment) for moment in (before, now))
        if was == now_is:
            continue
        found.setdefault(one.input, []).append(
            f"(({now_is}) AND NOT ({was}) OR ({was}) AND NOT ({now_is}))"
            if one.null_by_row
            else f"coalesce({now_is}, false) <> coalesce({was}, false)"
        )
    return {name: " OR ".join(conditions) for name, conditions in found.items()}


def shown(one: TemporalFilter) -> str:
    """A filter as it was written, about."""
    return MARKED.sub(lambda match: f"{match[1].lower()}()", one.sql).replace("`", "")


def _at(sql: str, moment: datetime) -> str:
    return MARKED.sub(lambda match: literal(match[1].lower(), moment), sql)
