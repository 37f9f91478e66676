"""Modes: how a refresh may find out what has changed."""

from __future__ import annotations

from enum import StrEnum


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


def asked_for(mode: str | None) -> Mode | None:
    """The mode that a caller chose; None = the definition's own."""
    return None if mode in (None, AS_DEFINED) else Mode(mode)
