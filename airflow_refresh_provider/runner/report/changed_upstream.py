"""Which definitions upstream of one have changes to apply: a refresh reads what these have last published."""

from __future__ import annotations

from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.core.timing.cascade import located, with_upstream
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.runner.report.observation import observe


def changed_upstream(ports: Ports, record: Record) -> tuple[str, ...]:
    """Those that a cascade would refresh before this definition, by name; one that cannot be read is left out."""
    records = {one.name: one for one in ports.store.records()}
    above = with_upstream([record.name], located((one.definition for one in records.values()), ports.environment))
    return tuple(one.name for one in above if one.name != record.name and _has_changes(ports, records[one.name]))


def _has_changes(ports: Ports, record: Record) -> bool:
    published = record.published
    if published is None or published.definition_hash != record.definition.hash:
        return True
    seen = observe(ports, record)
    return seen.replaced is not None or bool(seen.inputs and seen.inputs.behind)
