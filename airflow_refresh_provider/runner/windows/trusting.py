"""Whether what an incremental refresh has found is applied: not where a whole comparison has to verify it first.

That is due from time to time, and where a sample differs.
"""

from __future__ import annotations

from airflow_refresh_provider.core.definition.columns import floating_columns
from airflow_refresh_provider.core.plan.inexact import inexact_columns
from airflow_refresh_provider.core.plan.plan import ChangeCounts, Frozen, StagedTable, Verification
from airflow_refresh_provider.core.run.prepared import prepared
from airflow_refresh_provider.core.run.trust import sample_differs, verification_due
from airflow_refresh_provider.errors import redacted
from airflow_refresh_provider.ports.engine import EngineSession
from airflow_refresh_provider.ports.tasks import Comparison, Disagreement, Touched, VerifyTask
from airflow_refresh_provider.runner.facts.targets import Ready
from airflow_refresh_provider.runner.hold.tenure import Tenure
from airflow_refresh_provider.runner.windows import sampling
from airflow_refresh_provider.runner.windows.window_changes import Loaded, Unverified, frozen_of


def loaded(
    tenure: Tenure, session: EngineSession, ready: Ready, found: Comparison, touched: Touched | None = None
) -> Loaded:
    """What is frozen of the changes that were found by touched values; without these they were added up."""
    record, run = tenure.read()
    engine, values = session.engine(), touched.rows if touched else 0
    reason = verification_due(record.trust, engine, run.definition.verify_every, added_up=touched is None)
    sampled = None
    if reason is None:
        sampled = sampling.sampled(tenure, session, ready, _changes(found.changes, found.total), touched)
        reason = sample_differs(sampled.values, sampled.found.keys) if sampled else None
    if reason:
        unverified = Unverified(found, values, engine, added_up=touched is None, sampled=sampled)
        return Loaded(reason=reason, unverified=unverified)
    rows = ready.rows or 0
    whole = found.model_copy(update={"exact": False, "target_rows": rows, "source_rows": rows + found.total.net})
    seen = {
        "touched": values,
        "touched_rows": _rows_of(found) if touched else 0,
        "sampled": sampled.values if sampled else None,
    }
    return Loaded(frozen_of(run, ready, whole).model_copy(update=seen))


def verified(tenure: Tenure, session: EngineSession, unverified: Unverified, frozen: Frozen) -> Frozen:
    """What a whole comparison has frozen, and how what an incremental refresh would have applied agrees with it.

    A sample may differ where both agree: where the query gives other rows for a part of its inputs.
    """
    run = tenure.read_run()
    sampled = unverified.sampled
    both = _disagreement(tenure, session, unverified, frozen)
    worst = sampled.found if sampled and sampled.found.keys > both.keys else both
    verification = Verification(
        engine=unverified.engine,
        added_up=unverified.added_up,
        differences=worst.keys,
        examples=tuple(redacted(e) if run.definition.redact_keys else e for e in worst.examples),
    )
    seen = {
        "touched": unverified.touched,
        "touched_rows": _rows_of(unverified.found),
        "sampled": sampled.values if sampled else None,
    }
    return frozen.model_copy(update={"verification": verification, **seen})


def _rows_of(found: Comparison) -> int:
    """How many rows touched values stand for: of new groups the target has none yet."""
    return max(found.target_rows, found.source_rows)


def _disagreement(tenure: Tenure, session: EngineSession, unverified: Unverified, frozen: Frozen) -> Disagreement:
    run = tenure.read_run()
    target = prepared(run).target
    one = _changes(unverified.found.changes, unverified.found.total)
    other = _changes(frozen.current.changes, frozen.counts())
    if one is None and other is None:
        return Disagreement()
    inexact = inexact_columns(run.definition, run.plan.facts, floating_columns(target.columns))
    return session.verify(VerifyTask(one=one, other=other, target=target, keys=run.definition.keys, inexact=inexact))


def _changes(staged: StagedTable | None, counts: ChangeCounts) -> StagedTable | None:
    return staged if counts.total else None
