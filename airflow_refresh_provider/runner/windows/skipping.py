"""Of which tables the spans of touched values leave out files: only there they become conditions of a statement."""

from __future__ import annotations

from airflow_refresh_provider.core.changes.pins import Pin, VersionVector
from airflow_refresh_provider.core.maintain.plan import Use
from airflow_refresh_provider.core.maintain.spans import Spans, column_of, columns_in, skips_enough
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.table_log import TableLog
from airflow_refresh_provider.ports.tasks import Touched
from airflow_refresh_provider.runner.facts import hidden_values

_Sizes = tuple[int, int]  # of the files that are read, and of all


def with_skipping(ports: Ports, pins: VersionVector, target: str, touched: Touched) -> Touched:
    """Touched values with the tables of which their spans leave out enough. Of plain files row groups may be."""
    if not touched.rows or not touched.spans:
        return touched
    log, skips = ports.log.keeping({}), set()  # each table is opened once
    for number, use in enumerate(touched.maintenance.uses):
        pin = pins[use.input]
        with hidden_values.of_pin(ports.environment, pin):
            if use.restrictions and (pin.table_id is None or _skips(log, pin, use, touched)):
                skips.add(number)
    anchors = touched.maintenance.anchors
    of_target = [log.sizes_within(target, anchors[n], one.spans) for n, one in touched.spans.items()]
    return touched.model_copy(update={"skips": frozenset(skips), "skips_target": skips_enough(*min(of_target))})


def _skips(log: TableLog, pin: Pin, use: Use, touched: Touched) -> bool:
    """Whether the spans leave out enough of an input as the query reads it in one place."""
    read, everything = 0, 0
    for way in use.restrictions or ():
        known = [(value, touched.spans[n]) for n, value in enumerate(way) if value and n in touched.spans]
        sizes = [_sizes(log, pin, value, spans) for value, spans in known]
        if not sizes:
            return False
        read, everything = read + min(sizes)[0], sizes[0][1]
    return skips_enough(read, everything)


def _sizes(log: TableLog, pin: Pin, value: str, spans: Spans) -> _Sizes:
    """How much has such a value. Nothing is known of other expressions than columns, but of those of partitions."""
    column = column_of(value)
    read, everything = log.sizes_within(pin.location, column or "", spans.spans)
    if column is None:
        facts = log.facts(pin.location)
        read = 0 if facts and columns_in(value) & {name.lower() for name in facts.partitioned_by} else everything
    return read, everything
