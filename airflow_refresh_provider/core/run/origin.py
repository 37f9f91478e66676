"""What an origin says: its last word identifies one run, the words before it are what starts such runs."""

from __future__ import annotations

_BY_HAND = "manual__"
"""How Airflow begins the id of a DAG run that a person has triggered."""


def starter(origin: str | None) -> str | None:
    """What starts such runs by itself, such as a DAG with a schedule; None where a person has started this one."""
    first, _, run_id = (origin or "").rpartition(" ")
    found = first.rpartition(" ")[2]
    return found if found and not run_id.startswith(_BY_HAND) else None
