"""The engine: every operation on data, run by Spark in sessions whose ids the caller chooses and stores beforehand.

A session runs one statement at a time, and beside it at most one that only reads (ADR 66). An operation returns when it
has ended, or raises; an error does not say whether a commit was made, so callers read the marker. Operations are
repeatable: a write whose marker the table already has does nothing.
"""

from __future__ import annotations

from typing import Protocol

from airflow_refresh_provider.core.definition.columns import Columns
from airflow_refresh_provider.core.definition.evolution import Evolution
from airflow_refresh_provider.core.plan.plan import StagedTable, Target
from airflow_refresh_provider.ports.tasks import (
    ApplyTask,
    CompareTask,
    Comparison,
    Disagreement,
    KeyReport,
    PartitionsTask,
    Recomputed,
    RecomputeTask,
    Sample,
    SampleTask,
    Source,
    StageTask,
    Stamp,
    TargetSpec,
    Touched,
    TouchedPartitions,
    TouchTask,
    VerifyTask,
    WindowTask,
)


class EngineSession(Protocol):
    """Operations in one Spark session. Raise errors.*; Retry when it is not known whether a write was committed."""

    def engine(self) -> str:
        """What computes here, with its version."""
        ...

    def describe(self, source: Source) -> Columns:
        """Columns of the query's result. Raises Invalid with the position of an error, or of a word that is a date."""
        ...

    def prepare(self, spec: TargetSpec) -> None:
        """Create the target, or set its properties. Repeatable."""
        ...

    def evolve(self, location: str, evolution: Evolution) -> None:
        """Add, widen and drop columns and nested fields of the target; what is done already is left out."""
        ...

    def expect_commit(self, location: str) -> None:
        """A hint that a commit to the table there follows: what it needs may be computed while other operations run."""
        ...

    def mark(self, target: Target, stamp: Stamp) -> None:
        """Commit a marker to a target and nothing else (a fence, a seal, an empty chunk)."""
        ...

    def check_keys(self, source: Source, target: Target) -> KeyReport:
        """Count rows and partitions, and find NULL and duplicate keys, reading only columns of keys and partitions."""
        ...

    def stage_rows(self, task: StageTask) -> None:
        """Stage the rows of the query, or of a split."""
        ...

    def compare(self, task: CompareTask) -> Comparison: ...

    def touch(self, task: TouchTask) -> Touched:
        """Stage the values of the anchors that changes touch."""
        ...

    def count_touched(self, target: Target, base: int, touched: Touched) -> int:
        """Count the rows of a version of the target that have touched values."""
        ...

    def partitions(self, task: PartitionsTask) -> TouchedPartitions:
        """Which partitions of the target have touched values."""
        ...

    def recompute(self, task: RecomputeTask) -> Recomputed:
        """Stage the rows of touched partitions."""
        ...

    def sample(self, task: SampleTask) -> Touched:
        """Stage values of the anchors that some rows of the target have."""
        ...

    def verify(self, task: VerifyTask) -> Disagreement:
        """Compare two change sets."""
        ...

    def read_windows(self, task: WindowTask) -> StagedTable:
        """Stage a change set from the changes of the inputs."""
        ...

    def apply(self, task: ApplyTask) -> None:
        """Apply a chunk to the target. The caller checks that the target is still the same table."""
        ...

    def samples(
        self, changes: StagedTable, target: Target, keys: tuple[str, ...], base: int, limit: int
    ) -> tuple[Sample, ...]:
        """Some staged changes, each with the row that the target has."""
        ...

    def show_version(self, view: str, location: str, version: int, columns: Columns) -> None:
        """Make a catalog view read exactly one version of the target, hidden columns left out."""
        ...

    def seconds(self) -> float:
        """How long its operations took so far, failed ones too. Makes no call, and is known after the end as well."""
        ...

    def close(self) -> None:
        """End the session. Never raises, never hangs."""
        ...


class Engine(Protocol):
    """Opens and ends sessions."""

    def open(self, session_id: str) -> EngineSession:
        """Open a session under an id that the caller has stored. Raises Retry when Spark cannot be reached."""
        ...

    def release(self, session_id: str) -> None:
        """End the session of any owner and interrupt its statement. It is no fence: the owner may still commit."""
        ...
