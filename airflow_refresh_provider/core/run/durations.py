"""How long the newest refreshes took, by mode: what the next one, or one in progress, is expected to take.

Kept in the record, so that a list of many definitions need not search their history for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median

from airflow_refresh_provider.core.definition.mode import Mode
from airflow_refresh_provider.core.text.stored import Stored

NEWEST = 5
"""How many of each mode: enough to even out one that was slow."""

Durations = dict[Mode, tuple[float, ...]]
"""Seconds from start to end of published runs that were not resumed, by mode, the newest first."""


class Usual(Stored):
    """How long refreshes usually take: `seconds` is the median of the newest `runs` of a mode."""

    seconds: float
    mode: Mode
    runs: int


def with_duration(before: Durations, mode: Mode, seconds: float) -> Durations:
    """The durations with one more."""
    return {**before, mode: (seconds, *before.get(mode, ()))[:NEWEST]}


def usual(durations: Mapping[Mode, tuple[float, ...]], mode: Mode) -> Usual | None:
    """What a run of this mode usually takes; None where none of it is known."""
    found = durations.get(mode, ())
    return Usual(seconds=round(median(found), 3), mode=mode, runs=len(found)) if found else None
