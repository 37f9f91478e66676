"""How the tables of a statement over touched values are read.

Spans of these values are conditions only where they leave out rows. Tables of few files are read by these, as Spark
plans that faster (ADR 75).
"""

from __future__ import annotations

from typing import Any

from airflow_refresh_provider.core.changes.pins import DeltaPin, Pin, VersionVector
from airflow_refresh_provider.core.changes.reads import Read
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.maintain.plan import Use
from airflow_refresh_provider.core.maintain.spans import Spans, column_of, columns_in, skips_enough
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.table_log import TableLog
from airflow_refresh_provider.ports.tasks import Touched
from airflow_refresh_provider.runner.facts import hidden_values, pinned_inputs
from airflow_refresh_provider.runner.facts.targets import Ready

_Sizes = tuple[int, int]  # of the files that are read, and of all


def with_skipping(ports: Ports, definition: Definition, pins: VersionVector, ready: Ready, touched: Touched) -> Touched:
    """Touched values with how each table is read, and of which tables their spans leave out enough."""
    if not touched.rows:
        return touched
    log, skips, reads = ports.log, set(), {}
    for number, use in enumerate(touched.maintenance.uses):
        pin = pins[use.input]
        has_options = bool(pinned_inputs.options(ports, definition, use.input))
        with hidden_values.of_pin(ports.environment, pin):
            read, skipping = _of_input(log, pin, use, touched, by_files=not has_options)
        if read:
            reads[number] = read
        if skipping:
            skips.add(number)
    of_target = _of_target(log, ready, touched)
    return touched.model_copy(update={"skips": frozenset(skips), "reads": reads, **of_target})


def _of_input(log: TableLog, pin: Pin, use: Use, touched: Touched, *, by_files: bool) -> tuple[Read | None, bool]:
    """How the files of an input are read, None where it is read as a table; and whether the spans are a condition.

    Of plain files row groups may be left out. Where all rows are needed, each would be looked up among deleted ones.
    """
    with_spans = bool(use.restrictions and touched.spans)
    if not isinstance(pin, DeltaPin):
        return None, with_spans
    read = _by_files(log, pin, use, touched) if by_files and with_spans else None
    skipping = read is not None or (with_spans and _skips(log, pin, use, touched))
    if by_files and not skipping:
        read = log.few_files(pin.location, pin.version, deleted=bool(use.restrictions))
    return read and read.model_copy(update={"hidden": pin.hidden}), skipping


def _by_files(log: TableLog, pin: DeltaPin, use: Use, touched: Touched) -> Read | None:
    """How the files of an input are read that may have rows with touched values; None where it is read as a table."""
    ways = [
        {
            name: touched.spans[n]
            for n, value in enumerate(way)
            if n in touched.spans and (name := column_of(value or ""))
        }
        for way in use.restrictions or ()
    ]
    return log.files_within(pin.location, pin.version, ways)


def _of_target(log: TableLog, ready: Ready, touched: Touched) -> dict[str, Any]:
    """How the target is read, as fields of `Touched`."""
    location, anchors = ready.target.location, touched.maintenance.anchors
    spans = {anchors[n]: one for n, one in touched.spans.items()}
    if spans and (read := log.files_within(location, ready.version, [spans])):
        return {"target_read": read, "skips_target": True}
    sizes = [log.sizes_within(location, ready.version, anchor, one.spans) for anchor, one in spans.items()]
    if sizes and skips_enough(*min(sizes)):
        return {"skips_target": True}
    return {"target_read": log.few_files(location, ready.version, deleted=True)}


def _skips(log: TableLog, pin: DeltaPin, use: Use, touched: Touched) -> bool:
    """Whether the spans leave out enough of an input as the query reads it in one place."""
    read, everything = 0, 0
    for way in use.restrictions or ():
        known = [(value, touched.spans[n]) for n, value in enumerate(way) if value and n in touched.spans]
        sizes = [_sizes(log, pin, value, spans) for value, spans in known]
        if not sizes:
            return False
        read, everything = read + min(sizes)[0], sizes[0][1]
    return skips_enough(read, everything)


def _sizes(log: TableLog, pin: DeltaPin, value: str, spans: Spans) -> _Sizes:
    """How much has such a value. Nothing is known of other expressions than columns, but of those of partitions."""
    column = column_of(value)
    read, everything = log.sizes_within(pin.location, pin.version, column or "", spans.spans)
    if column is None:
        facts = log.facts(pin.location)
        read = 0 if facts and columns_in(value) & {name.lower() for name in facts.partitioned_by} else everything
    return read, everything
