"""Explanations: how a definition follows its inputs, and what its next refresh would do, and what its last one did.

Needs no Spark.
"""

from __future__ import annotations

from statistics import median

from airflow_refresh_provider.core.changes.pins import VersionVector
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.definition.mode import Mode, obstacle
from airflow_refresh_provider.core.maintain.plan import Maintenance
from airflow_refresh_provider.core.plan.foreseen import Foreseen
from airflow_refresh_provider.core.query.facts import QueryFacts
from airflow_refresh_provider.core.run.explanation import (
    Explanation,
    LastRefresh,
    NextRefresh,
    explanation,
    explanation_by_text,
)
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import ErrorReport, HistoryEntry, Outcome
from airflow_refresh_provider.core.strategy.foreseeing import foreseen
from airflow_refresh_provider.errors import RefreshError
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.runner.facts import pinned_inputs, queries, targets
from airflow_refresh_provider.runner.facts.maintaining import advised_maintenance
from airflow_refresh_provider.runner.report import reports
from airflow_refresh_provider.runner.windows import change_windows

_NEWEST = 5
"""How many of the newest refreshes of a kind the duration of the next is estimated from."""


def explain(ports: Ports, record: Record) -> Explanation:
    """A registered definition, with its next refresh. An error of its inputs or its target is in the result."""
    facts, entries = queries.facts_of(record), reports.history(ports, record.name)
    seen = {"last": _last(record, entries)}
    try:
        pins = pinned_inputs.pin(ports, record.definition)
        found, maintenance = _explained(ports, record.definition, facts, pins)
    except RefreshError as error:
        return _by_text(record.definition, facts, error).model_copy(update=seen)
    try:
        coming = _next(ports, record, facts, pins, maintenance)
        return found.model_copy(update=seen | {"next": NextRefresh(**{**dict(coming), **_seconds(entries)})})
    except RefreshError as error:
        return found.model_copy(update=seen | {"error": ErrorReport.of(error)})


def explain_definition(ports: Ports, definition: Definition) -> Explanation:
    """A definition that need not be registered; its inputs are read for their columns where these count."""
    facts = definition.analyse_query()
    try:
        pins = {} if facts.row_wise else pinned_inputs.pin(ports, definition)
        return _explained(ports, definition, facts, pins)[0]
    except RefreshError as error:
        return _by_text(definition, facts, error)


def _by_text(definition: Definition, facts: QueryFacts, error: RefreshError) -> Explanation:
    """What can be said without the inputs, and why they cannot be read."""
    return explanation_by_text(definition, facts).model_copy(update={"error": ErrorReport.of(error)})


def _explained(
    ports: Ports, definition: Definition, facts: QueryFacts, pins: VersionVector
) -> tuple[Explanation, Maintenance | None]:
    if facts.row_wise or obstacle(facts):
        return explanation(definition, facts, None), None
    maintenance, advice = advised_maintenance(ports, definition, pins)
    return explanation(definition, facts, maintenance).model_copy(update={"advice": advice}), maintenance


def _next(
    ports: Ports, record: Record, facts: QueryFacts, pins: VersionVector, maintenance: Maintenance | None
) -> Foreseen:
    location = record.definition.target
    changed = targets.doubt_of(ports, record.published, location, ports.log.facts(location))
    scope = change_windows.scope_of(ports, record, facts, pins, Request(), changed, maintenance)
    return foreseen(record.definition, record.trust, scope, pins, keyed=maintenance is not None)


def _last(record: Record, entries: list[HistoryEntry]) -> LastRefresh | None:
    """The published refresh, beside what was foreseen of it; `entries` are newest first."""
    published = record.published
    numbers = (n for n, e in enumerate(entries) if published and e.result and e.run_id == published.run_id)
    number = next(numbers, None)
    if published is None or number is None:
        return None
    entry, result = entries[number], entries[number].result
    assert result is not None
    before = _seconds(entries[number + 1 :])
    return LastRefresh(
        run_id=published.run_id,
        at=entry.at,
        foreseen=result.foreseen,
        foreseen_seconds=before.get(f"{result.foreseen.mode}_seconds") if result.foreseen else None,
        mode=result.mode,
        code=result.mode_code,
        reason=result.mode_reason,
        rows=result.rows,
        touched=result.touched,
        seconds=entry.elapsed_seconds,
    )


def _seconds(entries: list[HistoryEntry]) -> dict[str, float | None]:
    """How long refreshes of either kind took lately; a resumed one does not say."""
    done = [e.result for e in entries if e.outcome is Outcome.SUCCEEDED and e.result and not e.result.resumed]
    found: dict[str, float | None] = {}
    for mode in (Mode.INCREMENTAL, Mode.FULL):
        seconds = [result.seconds for result in done if result.mode == mode.value][:_NEWEST]
        found[f"{mode.value}_seconds"] = round(median(seconds), 1) if seconds else None
    return found
