"""What an engine is asked to do, and what it answers, as values."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from airflow_refresh_provider.core.changes.reads import Read
from airflow_refresh_provider.core.changes.sources import ChangedRows
from airflow_refresh_provider.core.definition.columns import Columns
from airflow_refresh_provider.core.log.marker import Marker
from airflow_refresh_provider.core.log.note import Note
from airflow_refresh_provider.core.maintain.plan import Maintenance, Sums
from airflow_refresh_provider.core.maintain.spans import Spans
from airflow_refresh_provider.core.plan.checksums import Checksums
from airflow_refresh_provider.core.plan.plan import ChangeCounts, Chunk, Split, StagedTable, Target
from airflow_refresh_provider.core.plan.replacing import PartitionRows
from airflow_refresh_provider.core.query.facts import ClockSpan, DateWord
from airflow_refresh_provider.core.text.stored import Stored


class Source(Stored):
    """The desired content of a target: a query over pinned inputs, clock functions already replaced by literals.

    `reads` are the inputs by name, `columns` those of inputs that are known: a query may be described by these, so that
    no table is opened for it. `keys` identify a row; `latest_by` keeps only the newest row of a key.
    `written` is the query as the user wrote it, before the clock functions at `clock_spans` were replaced by
    `moment`: positions in errors refer to it. `date_words` are words of it that must not be compared with dates.
    """

    query: str
    written: str | None = None
    clock_spans: tuple[ClockSpan, ...] = ()
    moment: datetime | None = None
    date_words: tuple[DateWord, ...] = ()
    reads: dict[str, Read]
    columns: dict[str, Columns] = {}
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
    of floating point, and are not in the change set. `checksums` are those of the desired rows, where they were made.
    `compared`: to how many rows of a side these have left the comparison, where they have.
    """

    changes: StagedTable
    counts: dict[int, ChangeCounts]
    source_rows: int
    target_rows: int
    keys: KeyReport
    rewrite: bool = False
    exact: bool = True
    within_tolerance: int = 0
    checksums: Checksums | None = None
    compared: int | None = None

    @property
    def total(self) -> ChangeCounts:
        """Counts of all vnodes."""
        return sum(self.counts.values(), ChangeCounts())


class ChecksumTask(Stored):
    """Put the checksums of the desired rows, in so many `buckets`, at `location`.

    With those of the target's rows, which are `known`, only the rows of buckets that differ are compared.
    """

    location: str
    buckets: int
    known: Checksums | None = None


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
    `checksums`: whether they are used and made, if that pays; only for content that is `row_wise`.

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
    checksums: ChecksumTask | None = None
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
    the spans leave out so much that they are worth a condition. Of those in `reads`, and of the target with
    `target_read`, only the files are read that may have touched values, by themselves (ADR 75).
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
    reads: dict[int, Read] = {}
    target_read: Read | None = None


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


class PartitionsTask(Stored):
    """Reduce touched values to the anchors of `maintenance`, which name partitions, and count the rows of each.

    Where the values have more anchors, others are staged at `location`. The rows are those of the target at `base`.
    """

    target: Target
    base: int
    touched: Touched
    maintenance: Maintenance
    location: str


class TouchedPartitions(Stored):
    """Touched values that each stand for a partition, and the rows that the target has of each.

    No partitions where there are more than MOST_PARTITIONS.
    """

    touched: Touched
    partitions: tuple[PartitionRows, ...]


class RecomputeTask(Stored):
    """Stage the rows of the query with touched values, which are partitions, as inserts at `location`.

    All rows of a partition are in one vnode; `partitioned`: the change set is partitioned by vnode. `rows`: about how
    many there are.
    """

    source: Source
    target: Target
    touched: Touched
    location: str
    stamp: Stamp
    partitioned: bool
    rows: int


class Recomputed(Stored):
    """Staged rows of partitions: how many there are of each touched one, those without rows included.

    With NULL or duplicate `keys` they must not be used.
    """

    changes: StagedTable
    partitions: tuple[PartitionRows, ...]
    keys: KeyReport


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
