"""Which HTTP status an error has."""

from __future__ import annotations

from airflow_refresh_provider.errors import Conflict, Explained, Invalid, Lost, Refused

_NOT_FOUND = frozenset({"unknown_name", "unknown_run"})
_LOST_RACES = frozenset({"control_contended"})
_PLACES = frozenset(
    {
        *("no_control", "broken_connection", "control_root_path", "control_not_empty"),
        *("newer_control_format", "control_damaged"),
    }
)
"""The control root cannot be used, whatever was asked for."""


def status_of(error: Explained) -> int:
    """404 for what is not there, 409 where the state does not allow it, 422 for what was given, else 503."""
    if error.code in _NOT_FOUND:
        return 404
    if error.code in _PLACES:
        return 503
    if isinstance(error, Refused | Lost | Conflict) or error.code in _LOST_RACES:
        return 409
    return 422 if isinstance(error, Invalid) else 503
