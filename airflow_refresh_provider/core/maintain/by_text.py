"""The analysis of a definition by its text alone: without the columns and types of its inputs."""

from __future__ import annotations

from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.maintain.advice import advice
from airflow_refresh_provider.core.maintain.advised import Advice
from airflow_refresh_provider.core.maintain.analysis import LEADS_NOWHERE, NOT_THERE, maintenance_of
from airflow_refresh_provider.core.maintain.assumed import Unresolved, assumed_columns
from airflow_refresh_provider.core.maintain.columns import OF_ALL_ROWS, UNLISTED
from airflow_refresh_provider.core.maintain.plan import Maintenance
from airflow_refresh_provider.core.maintain.subqueries import ALL_AROUND
from airflow_refresh_provider.core.query.facts import Obstacle

_UNKNOWN = "as far as is known, for a column that is not qualified"
_UNCERTAIN = (LEADS_NOWHERE, NOT_THERE, ALL_AROUND, UNLISTED, OF_ALL_ROWS)
"""Obstacles that may be none once columns are qualified; a subquery may then be correlated."""


def analysed(definition: Definition, *, advises: bool = True) -> tuple[Maintenance, tuple[Advice, ...]]:
    """How its inputs are followed, as far as the text says, and, if asked, what a change would win. Raises Invalid."""
    named = assumed_columns(definition.query_text, definition.inputs, definition.keys)
    found = maintenance_of(definition, named.columns)
    advised = advice(definition, named.columns, found, named.unresolved) if advises else ()
    return _unknown(found, named.unresolved[0]) if named.unresolved else found, advised


def surely_unfollowed(definition: Definition) -> str | None:
    """Why an input is not followed whatever columns the inputs have; None where that is not known.

    Where each column is known to be of one input, more than the columns that the text names would not help.
    """
    found, _ = analysed(definition, advises=False)
    return next((str(one) for one in found.unfollowed.values() if one.what != _UNKNOWN), None)


def _unknown(found: Maintenance, first: Unresolved) -> Maintenance:
    """That inputs may be followed which do not seem to be."""
    unknown = Obstacle(what=_UNKNOWN, line=first.line, column=first.column)
    unfollowed = {
        name: unknown if obstacle.what.endswith(_UNCERTAIN) else obstacle for name, obstacle in found.unfollowed.items()
    }
    return found.model_copy(update={"unfollowed": unfollowed})
