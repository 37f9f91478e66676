"""Modes: how a refresh may find out what has changed."""

from __future__ import annotations

from enum import StrEnum

from airflow_refresh_provider.core.query.facts import QueryFacts
from airflow_refresh_provider.errors import Invalid


class Mode(StrEnum):
    """What a definition, or the caller of one run, asks for.

    FULL evaluates the whole query and compares. INCREMENTAL reads only what has changed in the inputs since the last
    refresh, and takes only queries for which that is possible. AUTO is incremental where it can be, and full elsewhere.
    """

    FULL = "full"
    INCREMENTAL = "incremental"
    AUTO = "auto"


AS_DEFINED = "as_defined"
"""What stands for the definition's own mode where a choice has to have a value."""


def requested_mode(mode: str | None) -> Mode | None:
    """The mode that a caller chose; None = the definition's own."""
    return None if mode in (None, AS_DEFINED) else Mode(mode)


def obstacle(query: QueryFacts, latest_by: str | None) -> str | None:
    """Why it cannot, in words for whoever wrote the definition; None when it can."""
    if query.obstacle:
        return query.obstacle
    if latest_by is not None:
        return "on_duplicate: latest has to see every row of a key"
    return None


def check_mode(mode: Mode, reason: str | None) -> None:
    """Refuse the mode that takes no other queries. Raises Invalid with the reason and its position."""
    if mode is Mode.INCREMENTAL and reason:
        raise Invalid(
            "not_incremental",
            f"mode: incremental is not possible: {reason}",
            next="Write mode: auto, which compares everything where it must, or mode: full; or change the query.",
        )
