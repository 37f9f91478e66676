"""How other programs read a target, from its own log."""

from __future__ import annotations

from airflow_refresh_provider.core.run.ownership import hidden_columns
from airflow_refresh_provider.core.run.reading import ReadingLine, ReadTable, lines_of
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.errors import RefreshError
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.runner.facts import targets


def lines(ports: Ports, record: Record) -> tuple[ReadingLine, ...]:
    """A line for each program; none before the first refresh, or where the table is gone, replaced or unreadable."""
    published = record.published
    if published is None:
        return ()
    try:
        facts = ports.log.facts(record.definition.target)
    except RefreshError:
        return ()
    if facts is None or facts.table_id != published.target_id:
        return ()
    table = ReadTable(
        location=record.definition.target,
        version=targets.readable_version(ports, published, record.definition.target),
        features=facts.reader_features,
        hidden=hidden_columns(facts.properties),
    )
    return lines_of(table)
