"""Whether a definition's target can be kept up to date from the changes of its inputs alone.

Here that is a query which treats each row of one input by itself: what a change of that row does to the result can be
told from the row as it was and as it is.
"""

from __future__ import annotations

from airflow_refresh_provider.core.mode import Mode
from airflow_refresh_provider.core.query_facts import QueryFacts
from airflow_refresh_provider.errors import Invalid


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
