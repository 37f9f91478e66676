"""What is foreseen of a refresh, from its scope and from what is known of those before."""

from __future__ import annotations

from airflow_refresh_provider.core.changes.pins import VersionVector, size_of
from airflow_refresh_provider.core.plan.foreseen import Estimates, Foreseen, NextMode
from airflow_refresh_provider.core.plan.reasons import BY_COST, Reason, ReasonCode
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.core.run.trust import verification_due
from airflow_refresh_provider.core.strategy.costing import CostFacts, estimates
from airflow_refresh_provider.core.strategy.scope import Scope


def foreseen(record: Record, scope: Scope, pins: VersionVector) -> Foreseen:
    """A refresh that starts now."""
    reason = (_verification(record, scope) if scope.maintenance else None) or scope.reason
    return Foreseen(
        mode=_mode(scope, reason),
        code=reason.code,
        reason=reason.text,
        change_bytes=scope.change_bytes,
        change_rows=_rows(scope, pins),
        input_bytes=size_of(pins),
        **dict(_estimates(record, scope, pins)),
    )


def _estimates(record: Record, scope: Scope, pins: VersionVector) -> Estimates:
    if scope.reason.code is ReasonCode.NOTHING_CHANGED:
        return Estimates()
    facts = CostFacts(record.measured, sum(scope.change_bytes.values()), size_of(pins))
    return estimates(facts, followed=bool(scope.windows) or scope.reason.code in BY_COST)


def _verification(record: Record, scope: Scope) -> Reason | None:
    """Why the refresh will be verified, if that is known without Spark, whose version counts too."""
    if scope.reason.code is not ReasonCode.CHANGES:
        return None
    trust, every = record.trust, record.definition.verify_every
    return verification_due(trust, trust.engine if trust else "", every, added_up=_is_added_up(scope))


def _is_added_up(scope: Scope) -> bool:
    """Whether the result is added up, as far as is known before the changes are read."""
    sums = scope.maintenance.sums if scope.maintenance else None
    return sums is not None and len(scope.change_bytes) == 1 and scope.change_bytes.keys() <= set(sums.inputs)


def _mode(scope: Scope, reason: Reason) -> NextMode:
    if reason.code is ReasonCode.NOTHING_CHANGED:
        return NextMode.NOTHING
    return NextMode.INCREMENTAL if scope.windows and reason is scope.reason else NextMode.FULL


def _rows(scope: Scope, pins: VersionVector) -> int | None:
    """About how many rows have changed; None where it is not known of an input, or of none."""
    by_size = {name: _changed(pins[name].rows, pins[name].bytes, size) for name, size in scope.change_bytes.items()}
    rows = [scope.change_rows.get(name, count) for name, count in by_size.items()]
    known = [count for count in rows if count is not None]
    return sum(known) if known and len(known) == len(rows) else None


def _changed(rows: int | None, bytes: int | None, changed: int) -> int | None:
    return round(rows * changed / bytes) if rows is not None and bytes else None
