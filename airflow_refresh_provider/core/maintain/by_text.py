"""The analysis of a definition by its text alone: without the columns and types of its inputs."""

from __future__ import annotations

from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.maintain.advice import advice
from airflow_refresh_provider.core.maintain.advised import Advice
from airflow_refresh_provider.core.maintain.analysis import LEADS_NOWHERE, maintenance
from airflow_refresh_provider.core.maintain.assumed import assumed_columns
from airflow_refresh_provider.core.maintain.plan import Maintenance

_UNKNOWN = "nothing is known of it, as the query does not qualify its columns, which"


def analysed(definition: Definition) -> tuple[Maintenance, tuple[Advice, ...]]:
    """How its inputs are followed, as far as the text says, and what a change would win. Raises Invalid."""
    named = assumed_columns(definition.query_text, definition.inputs, definition.keys)
    found = maintenance(definition.query_text, named.columns, definition.keys)
    advised = advice(definition, named.columns, found, named.unresolved)
    return _unknown(found) if named.unresolved else found, advised


def _unknown(found: Maintenance) -> Maintenance:
    """That inputs may be followed which do not seem to be."""
    unfollowed = {
        name: obstacle.model_copy(update={"what": _UNKNOWN}) if obstacle.what.endswith(LEADS_NOWHERE) else obstacle
        for name, obstacle in found.unfollowed.items()
    }
    return found.model_copy(update={"unfollowed": unfollowed})
