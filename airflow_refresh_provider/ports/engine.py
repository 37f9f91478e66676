"""The engine: every act on data, done by Spark in sessions whose ids the caller chooses and records beforehand.

A session runs one statement at a time. An act either is known to have ended or raises; an error never says whether a
commit landed, so callers read the marker. Acts are repeatable: a write whose marker the table has already seen does
nothing.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Protocol

from airflow_refresh_provider.core.changes.reads import Read
from airflow_refresh_provider.core.changes.sources import ChangedRows
from airflow_refresh_provider.core.definition.columns import Column, Columns
from airflow_refresh_provider.core.log.marker import Marker
from airflow_refresh_provider.core.log.note import Note
from airflow_refresh_provider.core.plan.plan import ChangeCounts, Chunk, Split, StagedTable, Target
from airflow_refresh_provider.core.query.facts import ClockSpan
from airflow_refresh_provider.core.text.stored import Stored


class Source(Stored):
    """The desired content of a target: a query over pinned inputs, clock functions already bound.

    `reads` are the inputs by name. `keys` identify a row; `latest_by` keeps only the newest row of a key.
    `written` is the query as the user wrote it, before the clock functions at `clock_spans` were bound to `moment`:
    errors name positions in it.
    """

    query: str
    written: str | None = None
    clock_spans: tuple[ClockSpan, ...] = ()
    moment: datetime | None = None
    reads: dict[str, Read]
    keys: tuple[str, ...]
    latest_by: str | None = None


class TargetSpec(Stored):
    """How a target is to look: created when absent, otherwise only added to. Properties are table properties."""

    location: str
    columns: Columns
    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()
    properties: dict[str, str] = {}


class Stamp(Stored):
    """What makes a commit ours: appId, marker and note."""

    app_id: str
    marker: Marker
    note: Note


class KeyReport(Stored):
    """The keys of a source: rows, rows with a NULL in the key, keys that occur more than once, three examples each."""

    rows: int
    null_keys: int = 0
    duplicate_keys: int = 0
    null_examples: tuple[str, ...] = ()
    duplicate_examples: tuple[str, ...] = ()


class Comparison(Stored):
    """A change set: where it is staged, its counts by vnode, and the rows on both sides.

    Nothing is staged when nothing differs, or when so much does that the table is to be rewritten (`rewrite`).
    `keys` reports on the source; when it names NULL or duplicate keys the change set must not be used. `exact`: found
    by reading the target, not only from the inputs.
    """

    changes: StagedTable
    counts: dict[int, ChangeCounts]
    source_rows: int
    target_rows: int
    keys: KeyReport
    rewrite: bool = False
    exact: bool = True

    @property
    def total(self) -> ChangeCounts:
        """Counts of all vnodes."""
        return sum(self.counts.values(), ChangeCounts())


class CompareTask(Stored):
    """Compare desired content with the target at `base` and stage the differences at `location`.

    The content is the source's, or `rows` when it was staged in splits. `vnodes` restricts both sides, None = all.
    `one_chunk`: so many changes are applied in one chunk; a change set of more is laid out by vnode, for its chunks to
    be found. None = never.
    `stored_hashes`: in layout vnode the target's own row hashes may be used, because no other writer has written it.
    `row_wise`: reading the content twice costs little, as each of its rows comes from one row that is stored.
    `target_rows`: the rows of the target when its keys are known to be unique and in their vnodes, as no other writer
    has written it; None = both sides are counted and the target's keys are checked, which takes longer.
    `expected_rows`: about how many rows the larger side has.
    `rewrite_from`: from so many differences on nothing is staged; only heeded for content that is `row_wise`.

    Raises Failed `duplicate_target_key` when the target itself has a key more than once.
    """

    source: Source
    rows: StagedTable | None
    target: Target
    base: int
    location: str
    stamp: Stamp
    deletes: bool
    vnodes: tuple[int, ...] | None
    one_chunk: int | None
    stored_hashes: bool = True
    row_wise: bool = False
    target_rows: int | None = None
    expected_rows: int = 0
    rewrite_from: int | None = None


class WindowTask(Stored):
    """Stage at `location` what the changes of the inputs change in the result of a row-wise query.

    `deletes` is that of a comparison, `partitioned` lays the change set out by vnode. A key without a value, or of
    which the windows leave more than one row, is staged as DOUBTFUL; then only a comparison finds what is right.
    `bytes` are about what is read.
    """

    source: Source
    changes: dict[str, ChangedRows]
    target: Target
    location: str
    stamp: Stamp
    deletes: bool
    partitioned: bool
    bytes: int = 0


class ApplyTask(Stored):
    """Bring one chunk into the target in one commit.

    `span` is between which values the first key of all changes lies, where that is known: files and parts of files
    outside of it need not be read. `files` are those that hold the changes, where they can be read as they are: a
    log costs an engine more than a small change set.
    """

    target: Target
    source: Source
    base: int
    changes: StagedTable | None
    chunk: Chunk
    stamp: Stamp
    span: tuple[int, int] | None = None
    files: tuple[str, ...] | None = None

    @property
    def reads_inputs(self) -> bool:
        """Whether the query is run, instead of staged changes being taken."""
        return self.changes is None or self.chunk.way.reads_inputs


class Sample(Stored):
    """A few differing rows, for people: op (I, U, D), and the row as the query and as the target have it."""

    op: str
    desired: dict[str, Any] | None
    found: dict[str, Any] | None


class EngineSession(Protocol):
    """Acts in one Spark session. Raises errors.* ; Retry when the outcome of a write is unknown."""

    def describe(self, source: Source) -> Columns:
        """Columns of the query's result. Raises Invalid with the position of an error in the query."""
        ...

    def columns(self, location: str) -> Columns:
        """All columns of an existing target, hidden ones included."""
        ...

    def prepare(self, spec: TargetSpec) -> None:
        """Create the target, or set its properties. Repeatable."""
        ...

    def add_columns(self, location: str, columns: tuple[Column, ...]) -> None:
        """Add columns at the end, those already there left alone."""
        ...

    def mark(self, location: str, stamp: Stamp) -> None:
        """Commit a marker and nothing else (a fence, a seal, an empty chunk)."""
        ...

    def check_keys(self, source: Source, target: Target) -> KeyReport:
        """Count rows and find NULL and duplicate keys, reading no more than the key columns."""
        ...

    def stage_rows(self, source: Source, target: Target, split: Split, location: str, stamp: Stamp) -> None:
        """Append one split of the query's rows to staged rows, once."""
        ...

    def compare(self, task: CompareTask) -> Comparison: ...

    def read_windows(self, task: WindowTask) -> StagedTable:
        """Stage a change set from the changes of the inputs."""
        ...

    def apply(self, task: ApplyTask) -> None:
        """Bring a chunk into the target. Whether the target is still the same table is for the caller to see to."""
        ...

    def samples(
        self, changes: StagedTable, target: Target, keys: tuple[str, ...], base: int, limit: int
    ) -> tuple[Sample, ...]:
        """Some of a staged change set beside what the target has."""
        ...

    def show_version(self, view: str, location: str, version: int, columns: Columns) -> None:
        """Make a catalog view read exactly one version of the target, hidden columns left out."""
        ...

    def close(self) -> None:
        """End the session. Never raises, never hangs."""
        ...


class Engine(Protocol):
    """Where sessions come from."""

    def open(self, session_id: str) -> EngineSession:
        """Open a session under an id that the caller has recorded. Raises Retry when Spark cannot be reached."""
        ...

    def release(self, session_id: str) -> None:
        """Release a session, interrupting its statement. Saves work, proves nothing."""
        ...
