"""Modes: how a refresh finds out what has changed."""

from __future__ import annotations

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


def obstacle(query: QueryFacts) -> str | None:
    """Why no change of an input can be followed, whatever its columns are; None where that depends on these."""
    if not query.clock_spans:
        return None
    if query.row_wise and query.obstacle:
        return str(query.obstacle)
    return f"the clock function {query.clock_spans[0].function} is not supported in incremental mode"


def check_mode(mode: Mode, reason: str | None) -> None:
    """Raises Invalid, with the reason, for mode incremental."""
    if mode is Mode.INCREMENTAL and reason:
        raise Invalid(
            "not_incremental",
            f"query: {reason}",
            next="Use mode: auto, which compares everything where necessary, or mode: full; or change the query.",
        )
