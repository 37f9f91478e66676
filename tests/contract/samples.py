"""Records, rows and moments that the contract suites share; importable by processes they start."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.definition.inputs import Input
from airflow_refresh_provider.core.query.facts import QueryFacts
from airflow_refresh_provider.core.run.lifecycle import Event
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.ports.control import EventRow, ProgressRow

FACTS = QueryFacts(tables=(), clock_spans=(), row_wise=False)

NOON = datetime(2030, 1, 1, 12, 0, 0, 123456, tzinfo=UTC)
REGISTER = Event.REGISTER


def record(name: str, generation: int = 0, **changes: object) -> Record:
    """A registered definition without a run, identified by its generation."""
    definition = Definition(
        name=name,
        target=f"/lake/{name}",
        query="SELECT 'it''s; DROP TABLE state' AS \"ü\" FROM orders",
        inputs={"orders": Input(path="/raw/orders")},
        keys=("id",),
    )
    return Record(facts=FACTS, name=name, definition=definition, generation=generation).model_copy(update=changes)


def moment(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def progress_row(name: str, run_id: str, vnode: int, chunk: int, seconds: float = 0, **changes: object) -> ProgressRow:
    row = ProgressRow(
        name=name, run_id=run_id, vnode=vnode, stage="merge", unit=0, chunk=chunk, generation=1, at=moment(seconds)
    )
    return row.model_copy(update=changes)


def event_row(name: str, event: str, seconds: float, **changes: object) -> EventRow:
    row = EventRow(name=name, run_id=None, event=event, generation=1, at=moment(seconds))
    return row.model_copy(update=changes)
