"""All definitions at once: each control table is read once, inputs and targets are known from earlier looks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.core.run.reports import DefinitionStatus, DueReport
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.read_once import reading_once
from airflow_refresh_provider.runner.facts.records import owner_liveness
from airflow_refresh_provider.runner.report.due_report import report_due
from airflow_refresh_provider.runner.report.observation import Observation, observe
from airflow_refresh_provider.runner.report.statuses import seen_status, unseen_status


def overview(ports: Ports, records: list[Record], looks: Mapping[str, Observation]) -> list[DefinitionStatus]:
    """The status of each record, in their order. `looks`: what was seen of inputs and targets, by name.

    A definition that was refreshed, and of whose present state there is no look, has neither freshness nor due.
    """
    once = reading_once(ports)
    once.store.progress_of([record.run.run_id for record in records if record.run])
    due = partial(report_due, once, makers={record.definition.target: record for record in records})
    return [_status(once, record, looks.get(record.name), due) for record in records]


def _status(
    ports: Ports, record: Record, seen: Observation | None, due: Callable[[Observation], DueReport]
) -> DefinitionStatus:
    if record.published is None:  # neither inputs nor target count
        return seen_status(ports, observe(ports, record), due)
    if seen is None or not seen.still_of(record):
        return unseen_status(ports, record)
    now = seen.at(record, ports.clock.now(), owner_liveness(ports, record))
    return seen_status(ports, now, due, looked_at=seen.now)
