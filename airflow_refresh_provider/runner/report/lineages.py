"""The lineage of a published refresh: read from logs and files of its inputs, without Spark."""

from __future__ import annotations

from airflow_refresh_provider.core.run.lineage import Lineage
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.runner.facts.maintaining import columns_of
from airflow_refresh_provider.runner.facts.records import registered


def lineage_of(ports: Ports, name: str) -> Lineage | None:
    """What the newest published refresh has read and written; None before the first. Raises as reading inputs does."""
    from airflow_refresh_provider.core.query.column_lineage import origins

    record = registered(ports, name, ports.store.read(name).record)
    if record.published is None:
        return None
    columns = columns_of(ports, record.published.pins)
    facts = ports.log.facts(record.definition.target)
    return Lineage(
        definition=record.definition,
        inputs=columns,
        target=facts.types if facts else (),
        origins=origins(record.definition.query_text, columns),
    )
