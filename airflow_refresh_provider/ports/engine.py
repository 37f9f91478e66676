"""The engine: every operation on data, run by Spark in sessions whose ids the caller chooses and stores beforehand.

A session runs one statement at a time, and beside it at most one that only reads (ADR 66). An operation returns when it
has ended, or raises; an error does not say whether a commit was made, so callers read the marker. Operations are
repeatable: a write whose marker the table already has does nothing.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Protocol

from airflow_refresh_provider.core.changes.reads import Read
from airflow_refresh_provider.core.changes.sources import ChangedRows
from airflow_refresh_provider.core.definition.columns import Columns
from airflow_refresh_provider.core.definition.evolution import Evolution
from airflow_refresh_provider.core.log.marker import Marker
from airflow_refresh_provider.core.log.note import Note
from airflow_refresh_provider.core.maintain.plan import Maintenance, Sums
from airflow_refresh_provider.core.maintain.spans import Spans
from airflow_refresh_provider.core.plan.plan import ChangeCounts, Chunk, Split, StagedTable, Target
from airflow_refresh_provider.core.query.facts import ClockSpan, DateWord
from airflow_refresh_provider.core.text.stored import Stored


class Source(Stored):
    """The desired content of a target: a query over pinned inputs, clock functions already replaced by literals.

    `reads` are the inputs by name. `keys` identify a row; `latest_by` keeps only the newest row of a key.
    `written` is the query as the user wrote it, before the clock functions at `clock_spans` were replaced by
    `moment`: positions in errors refer to it. `date_words` are words of it that must not be compared with dates.
    """

    query: str
    written: str | None = None
    clock_spans: tuple[ClockSpan, ...] = ()
    moment: datetime | None = None
    date_words: tuple[DateWord, ...] = ()
    reads: dict[str, Read]
    keys: tuple[str, ...]
    latest_by: str | None = None


class TargetSpec(Stored):
    """The columns, layout and table properties of a target. It is created when absent, otherwise only extended."""

    location: str
    columns: Columns
    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()
    properties: dict[str, str] = {}


class Stamp(Stored):
    """What a commit of a run carries: transaction identifier (appId), marker and note."""

    app_id: str
    marker: Marker
    note: Note


class KeyReport(Stored):
    """The keys of a source: rows, rows with a NULL in the key, keys that occur more than once, three examples each.

    `partitions`: about how many partitions of the target the rows are for, 0 where it has none or that was not counted.
    """

    rows: int
    null_keys: int = 0
    duplicate_keys: int = 0
    partitions: int = 0
    null_examples: tuple[str, ...] = ()
    duplicate_examples: tuple[str, ...] = ()


class Comparison(Stored):
    """A change set: where it is staged, its counts by vnode, and the rows on both sides.

    Nothing is staged when nothing differs, or when so many rows do that the table is to be overwritten (`rewrite`).
    `keys` reports on the source; with NULL or duplicate keys the change set must not be used. `exact`: compared with
    the target, not taken from the changes of the inputs. `within_tolerance`: rows that differ only in the last digits
    of floating point, and are not in the change set.
    """

    changes: StagedTable
    counts: dict[int, ChangeCounts]
    source_rows: int
    target_rows: int
    keys: KeyReport
    rewrite: bool = False
    exact: bool = True
    within_tolerance: int = 0

    @property
    def total(self) -> ChangeCounts:
        """Counts of all vnodes."""
        return sum(self.counts.values(), ChangeCounts())


class CompareTask(Stored):
    """Compare desired content with the target at `base` and stage the differences at `location`.

    The content is the source's, or `rows` when it was staged in splits. `vnodes` restricts both sides, None = all.
    `one_chunk`: up to this many changes are applied in one chunk; a larger change set is partitioned by vnode, so that
    each chunk reads its own files. None = never partitioned.
    `stored_hashes`: with layout vnode the row hashes in the target can be used, as no other writer has written it.
    `row_wise`: the content can be read twice at little cost, as each of its rows comes from one input row.
    `target_rows`: the rows of the target when its keys are known to be unique and in their vnodes, as no other writer
    has written it; None = both sides are counted and the target's keys are checked, which takes longer.
    `expected_rows`: about how many rows the larger side has, `expected_changes`: at most about so many differ.
    `inexact`: columns whose floating point is compared within the relative `tolerance`; a row that differs in nothing
    else is no difference, and is counted.
    `rewrite_from`: from this many differences on nothing is staged; only for content that is `row_wise`.
    `touched`: only the rows whose anchors are among these values are compared, and counted.

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
    expected_changes: int = 0
    rewrite_from: int | None = None
    touched: Touched | None = None
    inexact: tuple[str, ...] = ()
    tolerance: float = 0.0


class StageTask(Stored):
    """Append the rows of the query to the staged rows at `location`, once: all of them, or those of one split.

    Each is staged as an insert, in its vnode. `rows`: about how many there are.
    """

    source: Source
    target: Target
    split: Split | None
    location: str
    stamp: Stamp
    rows: int


class Touched(Stored):
    """Values of the anchors that the changes of the inputs touch: a folder of parquet files with the columns k0, k1 ...

    `rows`: how many there are, `bytes`: about how large they are in memory, `types`: those of the columns. By the
    number of an anchor: `nulls` has those of whose values one is NULL, `spans` where its values lie, if that is known.
    At most about this `share` of the target's rows has them.

    `skips` are the numbers of the uses of inputs, and `skips_target` is whether the target is one more table, of which
    the spans leave out so much that they are worth a condition.
    """

    location: str
    maintenance: Maintenance
    rows: int
    bytes: int = 0
    share: float = 0.0
    types: tuple[str, ...] = ()
    nulls: frozenset[int] = frozenset()
    spans: dict[int, Spans] = {}
    skips: frozenset[int] = frozenset()
    skips_target: bool = False


class TouchTask(Stored):
    """Stage the touched values at `location`, from the changes of some inputs: K of `core.maintain`.

    `by_partition` are inputs of whose changed rows only these partition columns count: nothing else is read of them.
    `turned`: input -> the condition for which rows of it count as changed, though they have not.
    `bytes`: about how much is read of both.
    """

    source: Source
    changes: dict[str, ChangedRows]
    maintenance: Maintenance
    target: Target
    location: str
    by_partition: dict[str, tuple[str, ...]] = {}
    turned: dict[str, str] = {}
    bytes: int = 0

    @property
    def touching(self) -> tuple[str, ...]:
        """The inputs with rows that touch values."""
        return tuple(dict.fromkeys((*self.changes, *self.turned)))


class SampleTask(Stored):
    """Stage at `location` the values of the anchors that a `share` of the target's rows at `base` have, NULL too.

    Which ones depends on nothing but the values and `seed`. Values in `without` are left out.
    """

    target: Target
    base: int
    maintenance: Maintenance
    location: str
    share: float
    seed: str
    without: Touched | None = None


class VerifyTask(Stored):
    """Two change sets for the same version of a target, None for one without changes; at most one is None.

    `inexact`: columns with floating point that does not count. `among`: only changes of rows with these anchors count,
    which are keys.
    """

    one: StagedTable | None
    other: StagedTable | None
    target: Target
    keys: tuple[str, ...]
    inexact: tuple[str, ...] = ()
    among: Touched | None = None


class Disagreement(Stored):
    """How many keys have other changes in two change sets, and three of them."""

    keys: int = 0
    examples: tuple[str, ...] = ()


class WindowTask(Stored):
    """Stage at `location` how the changes of the inputs change the result of a row-wise query.

    `base` is the version of the target that the changes are for. `deletes` is that of a comparison; `partitioned`: the
    change set is partitioned by vnode. A key that is NULL, or that has more than one row after the changes, is staged
    as DOUBTFUL; then a comparison is needed. With `latest_by` the newest rows are staged that are newer than the
    target's, and a key of which a row was removed is DOUBTFUL. With `sums` the result is added up: inputs without
    changes are read whole, and groups of which the changed rows do not say enough are DOUBTFUL. `bytes`: about how much
    is read of the changes; `target_rows`: about how many rows the target has.
    """

    source: Source
    changes: dict[str, ChangedRows]
    target: Target
    base: int
    location: str
    stamp: Stamp
    deletes: bool
    partitioned: bool
    sums: Sums | None = None
    bytes: int = 0
    target_rows: int = 0


class ApplyTask(Stored):
    """Apply one chunk to the target in one commit.

    `span` contains the first keys of all changes, where they are known: files and row groups outside of it are skipped.
    `target_rows`: about how many rows the target has, None where that is not known. `files` are those of the
    change set, where they can be read directly: reading the log costs more than reading a small change set.
    """

    target: Target
    source: Source
    base: int
    changes: StagedTable | None
    chunk: Chunk
    stamp: Stamp
    target_rows: int | None = None
    span: tuple[int, int] | None = None
    files: tuple[str, ...] | None = None

    @property
    def reads_inputs(self) -> bool:
        """Whether the query is run, instead of reading staged changes."""
        return self.changes is None or self.chunk.way.reads_inputs


class Sample(Stored):
    """A row that differs: op (I, U, D), and the row in the query's result and in the target."""

    op: str
    desired: dict[str, Any] | None
    found: dict[str, Any] | None


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

    def expect_commit(self, target: Target) -> None:
        """A hint that a commit to a target follows: what it needs may be computed while other operations run."""
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
