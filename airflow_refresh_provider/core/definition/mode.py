"""Modes: how a refresh finds out what has changed."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from airflow_refresh_provider.core.query.facts import QueryFacts
from airflow_refresh_provider.errors import Invalid


class Mode(StrEnum):
    """What a definition, or the caller of one run, asks for.

    FULL evaluates the whole query and compares. INCREMENTAL reads only what has changed in the inputs since the last
    refresh, and accepts only queries for which that is possible. AUTO is incremental where possible, else full.
    """

    FULL = "full"
    INCREMENTAL = "incremental"
    AUTO = "auto"


AS_DEFINED = "as_defined"
"""The value for "the definition's own mode" where a choice must have a value."""


def requested_mode(mode: str | None) -> Mode | None:
    """The mode that a caller chose; None = the definition's own."""
    return None if mode in (None, AS_DEFINED) else Mode(mode)


def row_wise(facts: QueryFacts, latest_by: str | None) -> bool:
    """Whether each row of the result depends on one row of the one input.

    Then reading the result again, or in parts, costs little and gives the same rows.
    """
    return facts.row_wise and latest_by is None


def row_by_row(facts: QueryFacts) -> bool:
    """Whether changes are followed row by row: each row of the result depends on one input row, and on no clock.

    Those of any other query are followed by touched values, as far as its analysis allows.
    """
    return facts.obstacle is None


def check_mode(mode: Mode, reason: str | None, ways_out: Sequence[str] = ()) -> None:
    """Raises Invalid, with the reason, for mode incremental. `ways_out`: changes of the query that would help."""
    if mode is not Mode.INCREMENTAL or not reason:
        return
    modes = "mode: auto, which compares everything where necessary, or mode: full"
    advice = f"Use {modes}; or change the query."
    if ways_out:
        advice = f"{'; or '.join(ways_out)}. `airflow-refresh explain FILE` writes the definition. Else use {modes}."
    raise Invalid("not_incremental", f"query: {reason}", next=advice[0].upper() + advice[1:])
