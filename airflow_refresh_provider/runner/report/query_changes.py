"""The last changes of a definition's query: noted when another one is registered, read from the events."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationError

from airflow_refresh_provider.core.run.query_change import QueryChange, StoredQueryChange
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.errors import Invalid
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.control import EventRow

QUERY_CHANGED = "query_changed"
SHOWN_CHANGES = 5


def note_change(ports: Ports, before: Record, after: Record) -> None:
    """Write the query that another one has replaced into the events. Losing it loses no refresh."""
    if before.definition.query_text == after.definition.query_text:
        return
    ports.store.add_event(
        EventRow(
            name=after.name,
            run_id=None,
            event=QUERY_CHANGED,
            generation=after.generation,
            at=ports.clock.now(),
            detail=StoredQueryChange(before=before.definition.query_text).model_dump_json(),
        )
    )


def query_changes(record: Record, events: Sequence[EventRow]) -> tuple[QueryChange, ...]:
    """The last changes of its query, newest first. `events`: those of the definition, oldest first. Raises Invalid."""
    found: list[QueryChange] = []
    after = record.definition.query_text
    for row in reversed(events):
        if row.event == QUERY_CHANGED and len(found) < SHOWN_CHANGES:
            before = _stored(row).before
            found.append(QueryChange(at=row.at, before=before, after=after))
            after = before
    return tuple(found)


def _stored(row: EventRow) -> StoredQueryChange:
    try:
        return StoredQueryChange.model_validate_json(row.detail)
    except ValidationError:
        raise Invalid(
            "newer_control_format",
            "the events have a change of a query that this version of airflow-refresh-provider cannot read",
            next="Upgrade airflow-refresh-provider here.",
        ) from None
