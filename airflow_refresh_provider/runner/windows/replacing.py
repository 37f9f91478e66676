"""Touched values that are replaced by whole partitions, where many of their rows change (ADR 72)."""

from __future__ import annotations

from airflow_refresh_provider.core.definition.choices import Deletes
from airflow_refresh_provider.core.maintain.plan import Maintenance
from airflow_refresh_provider.core.plan import loading, replacing
from airflow_refresh_provider.core.plan.placing import partition_columns
from airflow_refresh_provider.core.plan.plan import Frozen, Round, Unit
from airflow_refresh_provider.core.plan.policy import check_deletes, check_keys
from airflow_refresh_provider.core.plan.replacing import ReplaceFacts, may_replace, replaces
from airflow_refresh_provider.core.run.record import Run
from airflow_refresh_provider.core.run.trust import Trust, sample_differs, verification_due
from airflow_refresh_provider.ports.engine import EngineSession
from airflow_refresh_provider.ports.tasks import PartitionsTask, Recomputed, RecomputeTask, Touched, TouchedPartitions
from airflow_refresh_provider.runner.facts import pinned_inputs, staging_paths
from airflow_refresh_provider.runner.facts.targets import Ready
from airflow_refresh_provider.runner.hold.tenure import Tenure
from airflow_refresh_provider.runner.windows import sampling
from airflow_refresh_provider.runner.windows.skipping import with_skipping


def frozen(tenure: Tenure, session: EngineSession, ready: Ready, touched: Touched) -> Frozen | None:
    """What is planned where partitions are replaced; None where rows are compared.

    Raises Failed where keys of their rows are NULL or not unique, and Refused where too many rows would go.
    """
    record, run = tenure.read()
    facts = _facts(run, ready, touched, record.trust)
    by_partition = touched.maintenance.narrowed(partition_columns(ready.target)) if may_replace(facts) else None
    if by_partition is None or verification_due(record.trust, session.engine(), run.definition.verify_every):
        return None
    found = session.partitions(_partitions_task(tenure, run, ready, touched, by_partition))
    if not found.partitions or not replaces(facts, found.partitions):
        return None
    if found.touched != touched:
        fewer = with_skipping(tenure.ports, run.definition, run.plan.pins, ready, found.touched)
        found = found.model_copy(update={"touched": fewer})
    sampled = sampling.sampled(tenure, session, ready, None, touched)
    if sampled and sample_differs(sampled.values, sampled.found.keys):
        return None
    planned = _planned(tenure, session, ready, found)
    return planned.model_copy(update={"touched": touched.rows, "sampled": sampled.values if sampled else None})


def _facts(run: Run, ready: Ready, touched: Touched, trust: Trust | None) -> ReplaceFacts:
    rate, size = trust.changed_per_byte if trust else None, run.plan.change_bytes
    return ReplaceFacts(
        target=ready.target,
        anchors=touched.maintenance.anchors,
        keys=run.definition.keys,
        only_result=run.definition.deletes is Deletes.APPLY,
        changed_share=trust.changed_share if trust else None,
        touched_rows=touched.rows * (trust.rows_per_value if trust else 1.0),
        changed_rows=None if rate is None or size is None else rate * size,
        one_commit=loading.limits(run.definition).one_commit,
    )


def _partitions_task(
    tenure: Tenure, run: Run, ready: Ready, touched: Touched, maintenance: Maintenance
) -> PartitionsTask:
    location, _ = staging_paths.changes_of(run, tenure.generation, "touched-partitions")
    return PartitionsTask(
        target=ready.target, base=ready.version, touched=touched, maintenance=maintenance, location=location
    )


def _planned(tenure: Tenure, session: EngineSession, ready: Ready, found: TouchedPartitions) -> Frozen:
    """Stage the rows of the partitions, check them, and plan the chunks."""
    run = tenure.read_run()
    definition = run.definition
    tenure.ports.watch.stage("compute", rows=sum(one.rows for one in found.partitions))
    computed = session.recompute(_recompute_task(tenure, run, ready, found))
    keys = computed.keys
    check_keys(keys.null_keys, keys.duplicate_keys, keys.null_examples, keys.duplicate_examples)
    units = replacing.units(found.partitions, computed.partitions, loading.limits(definition))
    rows = ready.rows or 0
    check_deletes(replacing.rows_lost(units), rows, definition.max_delete_ratio, force=run.plan.force)
    return _frozen(ready, computed, units, sum(one.rows for one in found.partitions))


def _recompute_task(tenure: Tenure, run: Run, ready: Ready, found: TouchedPartitions) -> RecomputeTask:
    location, stamp = staging_paths.changes_of(run, tenure.generation, "of-partitions")
    rows = sum(one.rows for one in found.partitions)
    return RecomputeTask(
        source=pinned_inputs.source(tenure.ports, run),
        target=ready.target,
        touched=found.touched,
        location=location,
        stamp=stamp,
        partitioned=rows > loading.limits(run.definition).one_commit,
        rows=max(rows, pinned_inputs.expected_rows(tenure.ports, run.plan.pins)),
    )


def _frozen(ready: Ready, computed: Recomputed, units: tuple[Unit, ...], removed: int) -> Frozen:
    """`removed`: how many rows the target has of these partitions."""
    rows, written = ready.rows or 0, computed.keys.rows
    planned = Round(base=ready.version, changes=computed.changes, compared=False, units=units)
    return Frozen(
        rounds=(planned,),
        source_rows=rows + written - removed,
        unchanged=rows - removed,
        touched_rows=max(written, removed),
    )
