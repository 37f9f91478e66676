"""How fresh a target is, in one word, whether or not anything refreshes it."""

from __future__ import annotations

from enum import StrEnum


class FreshnessState(StrEnum):
    """How fresh a target is; what runs, or fails, is the health of the table."""

    UNKNOWN = "unknown"  # it was never refreshed, or what it has cannot be determined
    FRESH = "fresh"  # it has all changes of its inputs, or is behind by no more than its target_lag
    LATE = "late"  # behind by more than its target_lag
    STALE = "stale"  # behind, and without a target_lag
    RECOVERING = "recovering"  # late or stale, and being refreshed


def freshness_state(lag_seconds: float | None, *, known: bool, late: bool, limited: bool, live: bool) -> FreshnessState:
    """Derive it. `known`: the target can be read and has the rows of the last refresh; `limited`: it has a target_lag;
    `live`: a run is in progress.
    """
    if not known:
        return FreshnessState.UNKNOWN
    if late or (lag_seconds and not limited):
        return FreshnessState.RECOVERING if live else FreshnessState.LATE if late else FreshnessState.STALE
    return FreshnessState.UNKNOWN if lag_seconds is None else FreshnessState.FRESH
