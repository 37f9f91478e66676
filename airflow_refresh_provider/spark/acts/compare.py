"""The comparison: finds every difference between desired content and target, stages it and counts it.

Duplicate keys are found from the counts of the join alone: a row that matches must match exactly one row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyspark.sql import Observation, SparkSession
from pyspark.sql import functions as F

from airflow_refresh_provider.core.definition.columns import OP, VNODE, visible
from airflow_refresh_provider.core.plan.plan import StagedTable, Target
from airflow_refresh_provider.core.text.wording import counted
from airflow_refresh_provider.errors import Failed
from airflow_refresh_provider.ports.staging import StagedValues
from airflow_refresh_provider.ports.tasks import ChecksumTask, CompareTask, Comparison, KeyReport, Sample
from airflow_refresh_provider.spark.acts import (
    change_counts,
    content,
    differences,
    kernel,
    key_check,
    row_checksums,
    shuffles,
    sql,
    stamped_writes,
    value_text,
)
from airflow_refresh_provider.spark.acts.observed import observed

BROADCAST_MAX_KEYS = 1_000_000
"""Broadcast the keys that differ up to this many rows, to look up their rows."""


@dataclass(frozen=True)
class _Comparing:
    """A comparison that is made: its task, what is observed of both sides, and what reads staged rows."""

    spark: SparkSession
    task: CompareTask
    files: StagedValues
    observed: differences.Counted


def compare(spark: SparkSession, task: CompareTask, files: StagedValues) -> Comparison:
    """Stage the differences and count them."""
    comparing = _Comparing(spark, task, files, differences.Counted(sides=task.target_rows is None))
    by_keys = task.row_wise and not task.inexact
    settings = shuffles.settings_for(task.expected_rows) | kernel.settings_for(task.source.query)
    with stamped_writes.setting(spark, settings):
        if not by_keys:
            return _in_one_query(comparing)
        if task.checksums and task.expected_rows >= row_checksums.LEAST_ROWS:
            return _by_checksums(comparing, task.checksums)
        return _by_keys(comparing)


def _by_checksums(made: _Comparing, wanted: ChecksumTask) -> Comparison:
    """Only the rows of buckets that differ, where these are known and few; both sides count as far as they are read."""
    taken = row_checksums.take(made.spark, made.task, wanted)
    if wanted.known is None or not taken.pays:
        return _by_keys(made).model_copy(update={"checksums": taken.made})
    rows = taken.made.rows
    if not taken.to_compare:
        nothing = StagedTable(location=made.task.location, version=None)
        found = Comparison(changes=nothing, counts={}, source_rows=0, target_rows=0, keys=KeyReport(rows=0))
    else:
        task = made.task.model_copy(update={"target_rows": None, "expected_changes": taken.to_compare})
        counting = replace(made, task=task, observed=differences.Counted(sides=True))
        found = _in_one_query(counting, row_checksums.within(made.spark, task, taken.made))
    of_target = rows - found.source_rows + found.target_rows
    by_checksums = {"checksums": taken.made, "compared": taken.to_compare}
    return found.model_copy(update={"source_rows": rows, "target_rows": of_target, **by_checksums})


def _in_one_query(made: _Comparing, within: differences.Within = differences.all_rows) -> Comparison:
    spark, task = made.spark, made.task
    # The number of differences is only known once they are staged.
    changes = stamped_writes.stage(
        differences.whole(spark, task, made.observed, within), task, by_vnode=_chunked(task, task.expected_changes)
    )
    found = content.staged(spark, changes, task.target)
    counts = change_counts.counted(task, found, None if changes.version is not None else changes.location, made.files)
    return _checked(made, counts, changes)


def _by_keys(made: _Comparing) -> Comparison:
    spark, task = made.spark, made.task
    folder = f"{task.location}-keys"
    differing = content.kept(spark, differences.of_keys(spark, task, made.observed), folder)
    counts = change_counts.counted(task, differing, folder, made.files)
    compared = _checked(made, counts, StagedTable(location=task.location, version=None))
    total = compared.total.total
    if not total or compared.keys.null_keys or compared.keys.duplicate_keys:
        return compared
    if task.rewrite_from is not None and total >= task.rewrite_from:
        return compared.model_copy(update={"rewrite": True})
    rows = differences.widened(spark, task, differing, few=total <= BROADCAST_MAX_KEYS)
    changes = stamped_writes.stage(rows, task, by_vnode=_chunked(task, total))
    return compared.model_copy(update={"changes": changes})


def _chunked(task: CompareTask, at_most: int) -> bool:
    """Whether so many differences may need more than one chunk."""
    return task.one_chunk is not None and at_most > task.one_chunk


def _checked(made: _Comparing, of_changes: change_counts.Counts, staged: StagedTable) -> Comparison:
    """The comparison with its counts, and whether the keys of both sides are valid."""
    spark, task, counted = made.spark, made.task, made.observed
    counts, keys = of_changes
    joined = observed(counted.joined)
    pairs, new, gone = joined.get("pairs", 0), joined.get("new", 0), joined.get("gone", 0)
    source_rows, target_rows = pairs + new, task.target_rows
    if target_rows is None:
        _check_places(task, counted.target)
        source_rows, target_rows = _rows(counted.source), _rows(counted.target)
    doubtful = bool(keys.duplicate_keys or keys.null_keys)
    if doubtful or pairs != target_rows - gone:
        keys = key_check.check(content.desired(spark, task.source, task.target, task.rows), task.source.keys)
    if not (keys.duplicate_keys or keys.null_keys) and (doubtful or pairs != source_rows - new):
        _check_target(spark, task)
    return Comparison(
        changes=staged,
        counts=counts,
        source_rows=source_rows,
        target_rows=target_rows,
        keys=keys,
        within_tolerance=_rows(counted.near) if task.inexact else 0,
    )


def _rows(side: Observation) -> int:
    return observed(side).get("rows", 0)


def _check_target(spark: SparkSession, task: CompareTask) -> None:
    """Refuse a target with duplicate or NULL keys: they do not identify the rows to keep or to remove."""
    report = key_check.check(content.at_version(spark, task.target, task.base), task.source.keys)
    if report.duplicate_keys:
        raise _bad_target(
            "duplicate_target_key",
            f"the target {task.target.location} has more than one row for {counted(report.duplicate_keys, 'key')}, "
            f"such as {'; '.join(report.duplicate_examples)}",
        ).showing(*report.duplicate_examples)
    if report.null_keys:
        raise _bad_target(
            "null_target_key",
            f"the target {task.target.location} has {counted(report.null_keys, 'row')} with NULL in the key, "
            f"such as {'; '.join(report.null_examples)}",
        ).showing(*report.null_examples)


def _bad_target(code: str, message: str) -> Failed:
    return Failed(
        code,
        message,
        left="The target was not changed by the comparison.",
        next="Remove these rows from the target. No refresh has published them: another writer has written them, or a "
        "load that was abandoned. Then run again.",
    )


def _check_places(task: CompareTask, target: Observation) -> None:
    """Refuse rows whose vnode is not that of their key: no chunk would find them."""
    if misplaced := observed(target).get("misplaced", 0):
        table = sql.table(task.target.location)
        raise Failed(
            "misplaced_target_rows",
            f"the target {task.target.location} has {counted(misplaced, 'row')} whose {VNODE} is not that of the key",
            left="The target was not changed by the comparison.",
            next="They were not written by a refresh, which fills the hidden columns. Remove them, then run again: "
            f"DELETE FROM {table} WHERE NOT ({VNODE} <=> {differences.vnode_of(task)})",
        )


def samples(
    spark: SparkSession, changes: StagedTable, target: Target, keys: tuple[str, ...], base: int, limit: int
) -> tuple[Sample, ...]:
    """Some staged differences, each with the row that the target has for its key."""
    shown = [c.name for c in visible(target.columns)]
    same = sql.same_keys(sql.key_columns(target.columns, keys), "s", "t")
    differing = content.staged(spark, changes, target).limit(limit).alias("s")
    pairs = differing.join(content.at_version(spark, target, base).alias("t"), F.expr(same), "left")
    both = pairs.selectExpr(
        f"s.{OP} AS op", f"struct({sql.names(shown, 's')}) AS desired", f"struct({sql.names(shown, 't')}) AS found"
    )
    rows = both.selectExpr(*(f"{value_text.value(f.name, f.dataType)} AS {f.name}" for f in both.schema)).collect()
    return tuple(
        Sample(
            op=row.op,
            desired=None if row.op == "D" else row.desired.asDict(recursive=True),
            found=None if row.op == "I" else row.found.asDict(recursive=True),
        )
        for row in rows
    )
