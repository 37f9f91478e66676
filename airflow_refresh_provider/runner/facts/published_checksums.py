"""The checksums that a comparison uses, and whether it makes new ones (ADR 77)."""

from __future__ import annotations

from airflow_refresh_provider.core.definition.choices import Deletes, Layout
from airflow_refresh_provider.core.definition.mode import Mode, row_wise
from airflow_refresh_provider.core.plan.checksums import Checksums, are_kept, buckets_for
from airflow_refresh_provider.core.plan.reasons import ReasonCode
from airflow_refresh_provider.core.run.last_run import LastRun
from airflow_refresh_provider.core.run.record import Published, Record, Run
from airflow_refresh_provider.core.run.results import Outcome
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.tasks import ChecksumTask
from airflow_refresh_provider.runner.facts import staging_paths


def task_for(ports: Ports, record: Record, run: Run, *, believed: bool, rows: int | None) -> ChecksumTask | None:
    """What a comparison does with checksums; None where it has none and makes none.

    `believed`: the target has the rows that were published by this very definition, and `rows` of them.
    """
    definition = run.definition
    exact = definition.deletes is Deletes.APPLY and definition.layout is Layout.PLAIN
    if not rows or not exact or not row_wise(run.plan.facts, definition.latest_by):
        return None
    known = _known(ports, record.published, rows) if believed and not _asked_for_all(run) else None
    if known is None and not _found_few_changes(record.last_run):
        return None
    return ChecksumTask(
        location=staging_paths.of_checksums(ports, run),
        buckets=known.buckets if known else buckets_for(rows),
        known=known,
    )


def _asked_for_all(run: Run) -> bool:
    """Whether a person, or a DAG, has asked for a comparison of everything: then nothing is taken on trust."""
    scope, mode = run.plan.scope, run.plan.mode
    requested = scope is not None and scope.code is ReasonCode.FULL_REQUESTED
    return requested or (mode is Mode.FULL and run.definition.mode is not Mode.FULL)


def _known(ports: Ports, published: Published | None, rows: int) -> Checksums | None:
    """Those of the published rows, if they are still there as they were written."""
    known = published.checksums if published else None
    if known is None or known.rows != rows or not known.suit(rows):
        return None
    if ports.staging.rows(known.location) != known.entries:
        ports.watch.note(f"the checksums of the published rows at {known.location} are gone: all rows are compared")
        return None
    return known


def _found_few_changes(last: LastRun | None) -> bool:
    """Whether the refresh before has compared everything, and most rows were those of the target."""
    if last is None or last.outcome is not Outcome.SUCCEEDED or last.mode != Mode.FULL:
        return False
    changed = last.rows.inserted + last.rows.updated + last.rows.deleted
    return are_kept(changed, last.rows.unchanged)
