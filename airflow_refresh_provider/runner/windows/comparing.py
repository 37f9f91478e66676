"""Comparing a run's pinned query with its target, and staging the differences."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from airflow_refresh_provider.core.definition.choices import Deletes, Layout
from airflow_refresh_provider.core.definition.columns import floating_columns
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.definition.mode import row_wise
from airflow_refresh_provider.core.plan import loading
from airflow_refresh_provider.core.plan.inexact import inexact_columns
from airflow_refresh_provider.core.plan.plan import StagedTable, Target
from airflow_refresh_provider.core.plan.policy import TARGET_ERRORS, check_keys, with_foreign_writes
from airflow_refresh_provider.core.run.prepared import prepared
from airflow_refresh_provider.core.run.record import Run
from airflow_refresh_provider.errors import Failed
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.engine import EngineSession
from airflow_refresh_provider.ports.table_log import LogGap
from airflow_refresh_provider.ports.tasks import ChecksumTask, CompareTask, Comparison, Touched
from airflow_refresh_provider.runner.facts import other_writers, pinned_inputs, staging_paths
from airflow_refresh_provider.runner.hold.tenure import Tenure
from airflow_refresh_provider.runner.windows import rounds

_ROWS_OF_VALUE = 16
"""Rows of the inputs that a touched value is taken to need at least. What is expected bounds how much one task joins,
whose hash table has to fit into memory."""
_UNTOUCHED = "The target was not changed."
_STARTED = "The chunks applied so far are in the target; nothing was published, and the version published before stays."


@dataclass(frozen=True)
class Known:
    """What is known of the target's rows.

    `hashes`: those that are stored are right, as no other writer has changed these rows. `rows`: how many the whole
    target has, by its log. `checksums`: those that are used, or made.
    """

    hashes: bool = False
    rows: int | None = None
    checksums: ChecksumTask | None = None


NOTHING_KNOWN = Known()


def compare(
    tenure: Tenure,
    session: EngineSession,
    base: int,
    vnodes: tuple[int, ...] | None = None,
    *,
    known: Known = NOTHING_KNOWN,
    touched: Touched | None = None,
    kind: str = "changes",
) -> Comparison:
    """Stage the differences between the pinned query and the target at `base`, of some vnodes or of all.

    `touched`: only rows with these anchors. `kind`: what the change set is for, where a run has several.
    """
    run = tenure.read_run()
    target = prepared(run).target
    rows = _staged_rows(tenure.ports, run)
    location, stamp = staging_paths.changes_of(run, tenure.generation, kind)
    source = pinned_inputs.source(tenure.ports, run)
    most = max(pinned_inputs.expected_rows(tenure.ports, run.plan.pins), known.rows or 0)
    fewer = _rows_among(touched, most) if touched else most
    task = CompareTask(
        source=source if touched else pinned_inputs.by_files(tenure.ports, source, run.definition, run.plan.pins),
        rows=rows,
        target=target,
        base=base,
        location=location,
        stamp=stamp,
        deletes=run.definition.deletes is Deletes.APPLY,
        vnodes=vnodes,
        one_chunk=rounds.one_chunk(run),
        stored_hashes=known.hashes,
        row_wise=touched is None and row_wise(run.plan.facts, run.definition.latest_by),
        target_rows=known.rows if known.hashes or known.rows == 0 else None,
        expected_rows=most if touched and _reads_all_of_an_input(touched) else fewer,
        expected_changes=fewer,
        inexact=inexact_columns(run.definition, run.plan.facts, floating_columns(target.columns)),
        touched=touched,
        checksums=known.checksums,
        tolerance=run.definition.float_tolerance,
        rewrite_from=_rewrite_min_rows(run.definition, target, known.rows) if rows is None else None,
    )
    try:
        compared = session.compare(task)
    except Failed as error:
        raise _explained(tenure, error) from error
    keys = compared.keys
    left = _STARTED if run.frozen else _UNTOUCHED
    check_keys(keys.null_keys, keys.duplicate_keys, keys.null_examples, keys.duplicate_examples, left)
    return compared


def _rows_among(touched: Touched, rows: int) -> int:
    """About how many rows have touched values, of so many; only these can differ."""
    return max(touched.rows * _ROWS_OF_VALUE, round(touched.share * rows))


def _reads_all_of_an_input(touched: Touched) -> bool:
    return not all(use.restrictions for use in touched.maintenance.uses)


def rows_location(run: Run) -> str:
    """Where the rows of the query are staged that are compared split by split."""
    return f"{run.plan.staging}/rows"


def _explained(tenure: Tenure, error: Failed) -> Failed:
    """The error; where it is about rows that no refresh writes, with the versions that other writers have committed."""
    record, run = tenure.read()
    target, published = prepared(run).target, record.published
    if error.code not in TARGET_ERRORS or published is None or published.target_id != target.table_id:
        return error
    with suppress(LogGap):
        found = other_writers.commits(tenure.ports, published, target.location, run.generations)
        if versions := [commit.version for commit in found]:
            return with_foreign_writes(error, target.location, published.version, versions)
    return error


def _staged_rows(ports: Ports, run: Run) -> StagedTable | None:
    if not run.plan.row_splits:
        return None
    location = rows_location(run)
    return StagedTable(location=location, version=ports.log.newest(location))


def _rewrite_min_rows(definition: Definition, target: Target, rows: int | None) -> int | None:
    """From how many differences on the whole target is written again; None where that would lose rows or columns."""
    if definition.layout is Layout.VNODE or definition.deletes is not Deletes.APPLY or target.kept:
        return None
    return loading.rewrite_min_rows(rows, loading.limits(definition))
