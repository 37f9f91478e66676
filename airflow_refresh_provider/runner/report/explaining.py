"""Explanations: how a definition follows its inputs, and what its next refresh would do. Needs no Spark."""

from __future__ import annotations

from statistics import median

from airflow_refresh_provider.core.changes.pins import VersionVector, size_of
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.definition.mode import Mode, obstacle
from airflow_refresh_provider.core.maintain.plan import Maintenance
from airflow_refresh_provider.core.plan.reasons import Reason, ReasonCode
from airflow_refresh_provider.core.query.facts import QueryFacts
from airflow_refresh_provider.core.run.explanation import (
    Explanation,
    NextMode,
    NextRefresh,
    explanation,
    explanation_by_text,
)
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import ErrorReport, Outcome
from airflow_refresh_provider.core.run.trust import verification_due
from airflow_refresh_provider.core.strategy.scope import Scope
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
    facts = queries.facts_of(record)
    try:
        pins = pinned_inputs.pin(ports, record.definition)
        found, maintenance = _explained(ports, record.definition, facts, pins)
    except RefreshError as error:
        return _by_text(record.definition, facts, error)
    try:
        return found.model_copy(update={"next": _next(ports, record, facts, pins, maintenance)})
    except RefreshError as error:
        return found.model_copy(update={"error": ErrorReport.of(error)})


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
) -> NextRefresh:
    location = record.definition.target
    changed = targets.doubt_of(ports, record.published, location, ports.log.facts(location))
    scope = change_windows.scope_of(ports, record, facts, pins, Request(), changed, maintenance)
    reason = (_verification(record, scope) if maintenance else None) or scope.reason
    return NextRefresh(
        mode=_mode(scope, reason),
        code=reason.code,
        reason=reason.text,
        change_bytes=scope.change_bytes,
        input_bytes=size_of(pins),
        **_seconds(ports, record.name),
    )


def _verification(record: Record, scope: Scope) -> Reason | None:
    """Why the refresh will be verified, if that is known without Spark, whose version counts too."""
    if scope.reason.code is not ReasonCode.CHANGES:
        return None
    trust = record.trust
    return verification_due(trust, trust.engine if trust else "", record.definition.verify_every)


def _mode(scope: Scope, reason: Reason) -> NextMode:
    if reason.code is ReasonCode.NOTHING_CHANGED:
        return NextMode.NOTHING
    return NextMode.INCREMENTAL if scope.windows and reason is scope.reason else NextMode.FULL


def _seconds(ports: Ports, name: str) -> dict[str, float | None]:
    """How long refreshes of either kind took lately; a resumed one does not say."""
    entries = reports.history(ports, name)
    done = [e.result for e in entries if e.outcome is Outcome.SUCCEEDED and e.result and not e.result.resumed]
    found: dict[str, float | None] = {}
    for mode in (Mode.INCREMENTAL, Mode.FULL):
        seconds = [result.seconds for result in done if result.mode == mode.value][:_NEWEST]
        found[f"{mode.value}_seconds"] = round(median(seconds), 1) if seconds else None
    return found
