"""Queries of definitions, analysed when a run needs it.

The SQL parser takes a third of a second to import; a start that finds nothing to do goes without it, so it is imported
inside these functions only.
"""

from __future__ import annotations

from datetime import datetime

from airflow_refresh_provider.core.definition import mode as modes
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.definition.mode import Mode


def bound(definition: Definition, moment: datetime) -> str:
    """The query with its clock functions fixed at one moment."""
    from airflow_refresh_provider.core.query.query import analyse, bind_clock

    return bind_clock(definition.query_text, analyse(definition.query_text, tuple(definition.inputs)), moment)


def row_wise(definition: Definition) -> bool:
    """Whether each row of the result comes from one row of the one input, whatever the other rows are.

    Then reading the result again, or in parts, costs little and gives the same rows.
    """
    if definition.latest_by is not None:
        return False
    from airflow_refresh_provider.core.query.query import analyse

    return analyse(definition.query_text, tuple(definition.inputs)).row_wise


def obstacle(definition: Definition, mode: Mode) -> str | None:
    """Why the target cannot be kept up to date from changes alone, None when it can.

    Raises Invalid when there is a reason and the mode takes none.
    """
    from airflow_refresh_provider.core.query.query import analyse

    query = analyse(definition.query_text, tuple(definition.inputs))
    reason = modes.obstacle(query, definition.latest_by)
    modes.check_mode(mode, reason)
    return reason
