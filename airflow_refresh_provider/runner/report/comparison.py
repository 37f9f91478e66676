"""Comparing without refreshing: how a target differs from its query, whether it belongs to the definition or not.

A run in progress is neither read nor disturbed; control tables and target are only read.
"""

from __future__ import annotations

from airflow_refresh_provider.core.changes.pins import VersionVector, digests
from airflow_refresh_provider.core.definition.choices import Deletes
from airflow_refresh_provider.core.definition.columns import check_padding, check_result, floating_columns
from airflow_refresh_provider.core.definition.evolution import check_settled
from airflow_refresh_provider.core.definition.mode import row_wise
from airflow_refresh_provider.core.log.marker import Marker
from airflow_refresh_provider.core.log.note import Note, NoteKind
from airflow_refresh_provider.core.plan.chunking import auto_vnodes
from airflow_refresh_provider.core.plan.inexact import inexact_columns
from airflow_refresh_provider.core.plan.plan import Plan
from airflow_refresh_provider.core.plan.policy import check_keys
from airflow_refresh_provider.core.query.query import bind_clock
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.core.run.results import Differences, DifferenceSample, Rows
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.engine import EngineSession
from airflow_refresh_provider.ports.tasks import CompareTask, Stamp
from airflow_refresh_provider.runner.facts import pinned_inputs, queries, staging_paths, targets
from airflow_refresh_provider.runner.facts.hidden_values import without_values
from airflow_refresh_provider.runner.facts.records import registered
from airflow_refresh_provider.runner.facts.stopwatch import Stopwatch


def compare_only(ports: Ports, name: str, samples: int) -> Differences:
    """Differences between target and query at the inputs' newest versions. Raises Failed when there is no target."""
    watch = Stopwatch(ports.clock)
    record = registered(ports, name, ports.store.read(name).record)
    moment = ports.clock.now()
    comparison_id = ports.processes.new_id()
    staging_paths.drop_orphans(ports, name)
    definition = record.definition
    facts = ports.log.facts(definition.target)
    check_padding(facts.padded if facts else (), definition.target)
    query = queries.facts_of(record)
    plan = Plan(
        pins=pinned_inputs.pin(ports, definition),
        moment=moment,
        query=bind_clock(definition.query_text, query.clock_spans, moment),
        facts=query,
        staging=staging_paths.of_comparison(ports, name, comparison_id),
    )
    session = ports.engine.open(comparison_id)
    try:
        with without_values(ports.environment, definition.inputs.values()):
            return _differences(ports, session, record, plan, samples, watch)
    finally:
        session.close()
        ports.staging.drop(plan.staging)


def _differences(
    ports: Ports, session: EngineSession, record: Record, plan: Plan, samples: int, watch: Stopwatch
) -> Differences:
    definition = record.definition
    source = pinned_inputs.bound_source(ports, definition, plan)
    result = session.describe(source)
    check_result(result, definition.keys)
    rows = pinned_inputs.expected_rows(ports, plan.pins)
    if facts := ports.log.facts(definition.target):
        check_settled(targets.evolution_of(definition, facts, result), definition.target)
    ready = targets.read(ports, definition.target, auto_vnodes(rows, definition.chunking.chunk_rows), result)
    note = Note(kind=NoteKind.CHUNK, definition=record.name, run=plan.staging, generation=1, inputs=digests(plan.pins))
    task = CompareTask(
        source=pinned_inputs.by_files(ports, source, definition, plan.pins),
        rows=None,
        target=ready.target,
        base=ready.version,
        location=f"{plan.staging}/changes",
        stamp=Stamp(app_id=plan.staging, marker=Marker(1, 1), note=note),
        deletes=definition.deletes is Deletes.APPLY,
        vnodes=None,
        one_chunk=None,
        row_wise=row_wise(plan.facts, definition.latest_by),
        expected_rows=max(rows, ready.rows or 0),
        inexact=inexact_columns(definition, plan.facts, floating_columns(ready.target.columns)),
        tolerance=definition.float_tolerance,
        stored_hashes=False,  # another writer's update leaves them unchanged, and that is to be found here
    )
    compared = session.compare(task)
    keys = compared.keys
    check_keys(keys.null_keys, keys.duplicate_keys, keys.null_examples, keys.duplicate_examples)
    total = compared.total
    found = (
        session.samples(compared.changes, ready.target, definition.keys, ready.version, samples) if total.total else ()
    )
    return Differences(
        name=record.name,
        target=definition.target,
        target_version=ready.version,
        input_versions=digests(plan.pins),
        rows=Rows(
            inserted=total.inserted,
            updated=total.updated,
            deleted=total.deleted,
            unchanged=compared.source_rows - total.inserted - total.updated,
        ),
        source_rows=compared.source_rows,
        target_rows=compared.target_rows,
        within_tolerance=compared.within_tolerance,
        equal=total.total == 0,
        samples=tuple(DifferenceSample(op=s.op, desired=s.desired, found=s.found) for s in found),
        bytes=_bytes(ports, plan.pins, definition.target),
        seconds=watch.total(),
    )


def _bytes(ports: Ports, pins: VersionVector, target: str) -> int | None:
    """How large the data files are that a comparison is about."""
    facts = ports.log.facts(target)
    sizes = [*(pin.bytes for pin in pins.values()), facts.bytes if facts else None]
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None
