"""One definition in detail, with the definitions around it; each table is looked at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial

from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.run.overview import DefinitionDetail, Neighbour, Source
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.core.text.variables import variables
from airflow_refresh_provider.core.timing.cascade import located
from airflow_refresh_provider.core.timing.lineage import Steps, lineage, reads, sources
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.read_once import reading_once
from airflow_refresh_provider.runner.facts.ended_runs import ended
from airflow_refresh_provider.runner.facts.records import registered
from airflow_refresh_provider.runner.report import explaining, freshness, reading, reports
from airflow_refresh_provider.runner.report.due_report import report_due
from airflow_refresh_provider.runner.report.observation import Observation, observe
from airflow_refresh_provider.runner.report.overview import overview
from airflow_refresh_provider.runner.report.query_changes import query_changes
from airflow_refresh_provider.runner.report.statuses import notices_on_query, seen_status


def definition_detail(ports: Ports, name: str, looks: Mapping[str, Observation]) -> DefinitionDetail:
    """A definition. `looks`: what was seen of the inputs and targets of others, by name. Raises Invalid."""
    once = reading_once(ports)
    records = {one.name: one for one in once.store.records()}
    record = records.get(name) or registered(once, name, once.store.read(name).record)
    seen = observe(once, record)
    status = seen_status(once, seen, partial(report_due, once))
    shown = {"notices": notices_on_query(once, record), "reading": reading.lines(once, record)}
    placed = [_placed(one.definition, once) for one in records.values()]
    reading_of = reads(placed)
    above, below = lineage(reading_of, name)
    around = _around(once, [records[other] for other in (*above, *below)], looks)
    events = once.store.newest_events(name, reports.NEWEST_RUNS)
    runs = ended(events)
    return DefinitionDetail(
        status=status.model_copy(update=shown),
        freshness=freshness.with_expected_seconds(freshness.freshness(once, seen, why=True), runs),
        explanation=explaining.explain_with(once, record, runs),
        history=tuple(runs),
        upstream=_neighbours(above, around, reading_of),
        downstream=_neighbours(below, around, reading_of),
        reads=reading_of[name],
        sources=_sources(placed, (name, *above), records),
        query_changes=query_changes(record, events),
    )


def _placed(definition: Definition, ports: Ports) -> Definition:
    """A definition whose inputs are at the places that the environment gives them."""
    written = any(variables(read.path) for read in definition.inputs.values())
    return located([definition], ports.environment)[0] if written else definition


def _around(ports: Ports, records: list[Record], looks: Mapping[str, Observation]) -> dict[str, Neighbour]:
    found = overview(ports, records, looks)
    return {
        one.name: Neighbour(
            name=one.name,
            steps=0,
            health=one.health,
            lag_seconds=one.freshness.lag_seconds if one.freshness else None,
        )
        for one in found
    }


def _neighbours(
    steps: Steps, around: Mapping[str, Neighbour], reading_of: Mapping[str, tuple[str, ...]]
) -> tuple[Neighbour, ...]:
    return tuple(
        around[name].model_copy(update={"steps": count, "reads": reading_of[name]}) for name, count in steps.items()
    )


def _sources(
    placed: Collection[Definition], readers: Collection[str], records: Mapping[str, Record]
) -> tuple[Source, ...]:
    """The places as they are written: the values of variables are not shown."""
    found = []
    for read in sources(placed, readers).values():
        reader, name = read[0]
        path = records[reader].definition.inputs[name].path
        found.append(Source(name=name, path=path, readers=tuple(dict.fromkeys(reader for reader, _ in read))))
    return tuple(found)
