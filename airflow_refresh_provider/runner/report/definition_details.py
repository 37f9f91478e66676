"""One definition in detail, with the definitions around it; each table is looked at once."""

from __future__ import annotations

from collections.abc import Mapping

from airflow_refresh_provider.core.run.overview import DefinitionDetail, Neighbour
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.core.timing.cascade import located
from airflow_refresh_provider.core.timing.lineage import Steps, lineage
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.read_once import reading_once
from airflow_refresh_provider.runner.facts.records import registered
from airflow_refresh_provider.runner.report import explaining, freshness, reading, reports
from airflow_refresh_provider.runner.report.observation import Observation, observe
from airflow_refresh_provider.runner.report.overview import overview
from airflow_refresh_provider.runner.report.statuses import with_notices

SHOWN_RUNS = 100


def definition_detail(ports: Ports, name: str, looks: Mapping[str, Observation]) -> DefinitionDetail:
    """A definition. `looks`: what was seen of the inputs and targets of others, by name. Raises Invalid."""
    once = reading_once(ports)
    record = registered(once, name, once.store.read(name).record)
    records = {one.name: one for one in once.store.records()}
    fresh = freshness.freshness(once, observe(once, record), why=True)
    above, below = lineage(located([one.definition for one in records.values()], once.environment), name)
    around = _around(once, [records[other] for other in (*above, *below)], looks)
    return DefinitionDetail(
        status=with_notices(once, record).model_copy(update={"reading": reading.lines(once, record)}),
        freshness=freshness.with_expected_seconds(once, fresh),
        explanation=explaining.explain(once, record),
        history=tuple(reports.history(once, name)[:SHOWN_RUNS]),
        upstream=_neighbours(above, around),
        downstream=_neighbours(below, around),
    )


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


def _neighbours(steps: Steps, around: Mapping[str, Neighbour]) -> tuple[Neighbour, ...]:
    return tuple(around[name].model_copy(update={"steps": count}) for name, count in steps.items())
