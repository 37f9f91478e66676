"""Explanations: how a definition follows its inputs, and what its next refresh would do, and what its last one did.

Needs no Spark.
"""

from __future__ import annotations

from collections.abc import Iterable

from airflow_refresh_provider.core.changes.pins import VersionVector
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.definition.mode import row_by_row
from airflow_refresh_provider.core.maintain.plan import Maintenance
from airflow_refresh_provider.core.plan.foreseen import Foreseen
from airflow_refresh_provider.core.query.facts import QueryFacts
from airflow_refresh_provider.core.run.explanation import (
    Explanation,
    LastRefresh,
    explanation,
    explanation_by_text,
    touched_by,
)
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import ErrorReport, HistoryEntry
from airflow_refresh_provider.core.strategy.foreseeing import foreseen
from airflow_refresh_provider.errors import RefreshError
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.runner.facts import pinned_inputs, queries, targets
from airflow_refresh_provider.runner.facts.ended_runs import ended_run
from airflow_refresh_provider.runner.facts.maintaining import advised_maintenance
from airflow_refresh_provider.runner.report import reports
from airflow_refresh_provider.runner.report.changed_upstream import ChangedUpstream
from airflow_refresh_provider.runner.windows import change_windows


def explain(ports: Ports, upstream: ChangedUpstream, record: Record) -> Explanation:
    """A registered definition, with its next refresh and what is to be done upstream of it first.

    An error of its inputs or its target is in the result.
    """
    found = explain_with(ports, record, reports.newest(ports, record.name))
    return found.model_copy(update={"changed_upstream": upstream.of(record.name)})


def explain_with(ports: Ports, record: Record, ended: Iterable[HistoryEntry]) -> Explanation:
    """As `explain`, without what is upstream; `ended` are its newest runs, as far as they were read."""
    facts = queries.facts_of(record)
    last = _last(ports, record, ended)
    seen = {"last": last, "unfinished_run": record.run.run_id if record.run else None}
    try:
        pins = pinned_inputs.pin(ports, record.definition)
        found, maintenance = _explained(ports, record.definition, facts, pins)
    except RefreshError as error:
        return _by_text(record.definition, facts, error).model_copy(update=seen)
    try:
        coming = _next(ports, record, facts, pins, maintenance)
        return found.model_copy(update=seen | {"next": coming, "touched": touched_by(coming, last)})
    except RefreshError as error:
        return found.model_copy(update=seen | {"error": ErrorReport.of(error)})


def explain_definition(ports: Ports, definition: Definition) -> Explanation:
    """A definition that need not be registered; its inputs are read for their columns where these count."""
    facts = definition.analyse_query()
    try:
        pins = {} if row_by_row(facts) else pinned_inputs.pin(ports, definition)
        return _explained(ports, definition, facts, pins)[0]
    except RefreshError as error:
        return _by_text(definition, facts, error)


def _by_text(definition: Definition, facts: QueryFacts, error: RefreshError) -> Explanation:
    """What can be said without the inputs, and why they cannot be read."""
    return explanation_by_text(definition, facts).model_copy(update={"error": ErrorReport.of(error)})


def _explained(
    ports: Ports, definition: Definition, facts: QueryFacts, pins: VersionVector
) -> tuple[Explanation, Maintenance | None]:
    if row_by_row(facts):
        return explanation(definition, facts, None), None
    maintenance, advice = advised_maintenance(ports, definition, pins)
    return explanation(definition, facts, maintenance).model_copy(update={"advice": advice}), maintenance


def _next(
    ports: Ports, record: Record, facts: QueryFacts, pins: VersionVector, maintenance: Maintenance | None
) -> Foreseen:
    location = record.definition.target
    # What an unfinished run has committed is no change by others: the next owner finishes it first.
    changed = None if record.run else targets.doubt_of(ports, record.published, location, ports.log.facts(location))
    scope = change_windows.scope_of(ports, record, facts, pins, Request(), changed, maintenance)
    return foreseen(record, scope, pins)


def _last(ports: Ports, record: Record, ended: Iterable[HistoryEntry]) -> LastRefresh | None:
    """The published refresh, beside what was foreseen of it."""
    published = record.published
    if published is None:
        return None
    known = next((run for run in ended if run.run_id == published.run_id), None)
    entry = known or ended_run(ports, record.name, published.run_id)
    if entry is None or entry.result is None:
        return None
    result = entry.result
    return LastRefresh(
        run_id=published.run_id,
        at=entry.at,
        foreseen=result.foreseen,
        mode=result.mode,
        code=result.mode_code,
        reason=result.mode_reason,
        rows=result.rows,
        touched=result.touched,
        seconds=round(entry.spent.worked_seconds, 1) if entry.spent else entry.elapsed_seconds,
    )
