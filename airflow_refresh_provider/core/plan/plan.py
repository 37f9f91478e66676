"""Plans: everything a run fixes before the first side effect that needs it.

A `Plan` is stored when a run starts, and completed once the target exists. `Frozen` is stored when staging is complete;
its rounds list every chunk. Inside a run nothing stored here is removed or replaced: a round can be added, and a mass
delete accepted.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from airflow_refresh_provider.core.changes.history import Windows
from airflow_refresh_provider.core.changes.pins import VersionVector
from airflow_refresh_provider.core.definition.columns import Columns
from airflow_refresh_provider.core.definition.mode import Mode
from airflow_refresh_provider.core.maintain.plan import Maintenance
from airflow_refresh_provider.core.plan.checksums import Checksums
from airflow_refresh_provider.core.plan.foreseen import Estimates, Foreseen
from airflow_refresh_provider.core.plan.load_seconds import LoadSeconds
from airflow_refresh_provider.core.plan.reasons import Reason
from airflow_refresh_provider.core.plan.ways import Way
from airflow_refresh_provider.core.query.facts import QueryFacts
from airflow_refresh_provider.core.text.stored import Stored

_COUNTED = {"I": "inserted", "U": "updated", "D": "deleted"}
MAX_SLOTS = 32
"""Slots a target ever uses; few, because Delta keeps at most 100 appIds in its quick checksum."""


class Target(Stored):
    """The target after it was created or checked: its identity never changes inside a run.

    `columns` are those of the result and the hidden ones, in table order; `kept` are all others, which a refresh never
    writes. `vnodes` is the granularity of this run (of the table's life in layout vnode). `partition_by` are its
    partition columns, `partitions` is about how many partitions it has, or will have after a first load, 0 where that
    is not known. `small`: it had so few rows, and they are stored so plainly, that it is rewritten without Spark.
    """

    location: str
    table_id: str
    columns: Columns
    vnodes: int
    deletion_vectors: bool
    partition_by: tuple[str, ...] = ()
    partitions: int = 0
    kept: Columns = ()
    small: bool = False


class Split(Stored):
    """A part of a row-wise load: some files of the one input, by their full paths. Numbers count from 1."""

    number: int
    files: tuple[str, ...]


class Plan(Stored):
    """What a run was started with. In `query` clock functions are replaced by `moment`; `facts` are those of the query
    as it was written.

    `force`: a mass delete is accepted, by the request that started the run or resumed it before it was frozen.
    `strict`: the run is refused where it would have to read everything.
    `windows` are what an incremental run reads of its inputs, none when it reads everything; `scope` is the reason.
    `change_bytes` is the size of the files with the changes in the windows, None in plans of earlier versions.
    `mode` is what was asked for, `foreseen` how it would be done, as far as logs say. `maintenance`: how the changes of
    the inputs are followed, where the query is not row-wise.
    """

    pins: VersionVector
    moment: datetime
    query: str
    facts: QueryFacts
    staging: str
    force: bool = False
    strict: bool = False
    windows: Windows = {}
    change_bytes: int | None = None
    scope: Reason | None = None
    mode: Mode = Mode.FULL
    foreseen: Foreseen | None = None
    maintenance: Maintenance | None = None
    target: Target | None = None
    row_splits: tuple[Split, ...] = ()


class ChangeCounts(Stored):
    """Rows by what happens to them."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0

    @property
    def total(self) -> int:
        """Rows that change."""
        return self.inserted + self.updated + self.deleted

    @property
    def net(self) -> int:
        """By how many rows the target grows."""
        return self.inserted - self.deleted

    def __add__(self, other: ChangeCounts) -> ChangeCounts:
        return ChangeCounts(
            inserted=self.inserted + other.inserted,
            updated=self.updated + other.updated,
            deleted=self.deleted + other.deleted,
        )


def counts_by_vnode(rows: Mapping[tuple[int, str], int]) -> dict[int, ChangeCounts]:
    """The counts of each vnode, by how many rows there are of each (vnode, op): I, U or D."""
    found: dict[int, ChangeCounts] = {}
    for (vnode, op), count in rows.items():
        found[vnode] = found.get(vnode, ChangeCounts()) + ChangeCounts(**{_COUNTED[op]: count})
    return found


class HashRange(Stored):
    """Keys whose 64-bit hash lies in [low, high], both signed and included."""

    low: int
    high: int


PartitionValues = dict[str, str | None]
"""A partition of the target: the values of its columns as text, None for NULL."""


class Chunk(Stored):
    """What one commit covers: some vnodes, or a hash range of one, or one split of a direct load.

    Numbers grow within a slot over all rounds of a run. `by_vnode` comes from the frozen change set; it is empty for
    a direct load, whose rows are counted in the commit. `partitions` are those that are replaced.
    """

    number: int
    way: Way
    by_vnode: dict[int, ChangeCounts] = {}
    keys: HashRange | None = None
    split: Split | None = None
    partitions: tuple[PartitionValues, ...] = ()

    @property
    def vnodes(self) -> tuple[int, ...]:
        """The vnodes covered, in order."""
        return tuple(sorted(self.by_vnode))

    @property
    def counts(self) -> ChangeCounts:
        """Rows that change, all vnodes together."""
        return sum(self.by_vnode.values(), ChangeCounts())

    @property
    def staged(self) -> int:
        """How many rows of the change set it has: those that go with a partition are not staged."""
        return self.counts.inserted if self.way is Way.REPLACE_PARTITIONS else self.counts.total


class Unit(Stored):
    """Chunks that follow each other; its index is its slot."""

    slot: int
    chunks: tuple[Chunk, ...]


class StagedTable(Stored):
    """Staged rows: a Delta table at the version that holds all of them.

    Without a version it is a folder of parquet files that one statement has written, and no other ever does.
    """

    location: str
    version: int | None


class Round(Stored):
    """One comparison with the target at version `base`, and the chunks that follow from it.

    `changes` is the staged change set, None for a direct load of the query. `compared`: it was compared with the
    target, so its counts are exact; those of a window are counts of the input's changes.
    """

    base: int
    changes: StagedTable | None
    compared: bool = True
    units: tuple[Unit, ...]

    @property
    def reads_inputs(self) -> bool:
        """Whether its chunks run the query, instead of taking staged changes."""
        return self.changes is None or any(c.way.reads_inputs for u in self.units for c in u.chunks)


class Verification(Stored):
    """An incremental refresh beside a whole comparison: changes that only one of both has found, three of them by key.

    `engine` has computed both. `added_up`: the incremental one by adding up changed rows, not by touched values.
    Changes that a sample alone has found count too.
    """

    engine: str
    added_up: bool = False
    differences: int
    examples: tuple[str, ...] = ()


class Frozen(Stored):
    """What will be merged. `source_rows` are the rows of the query's result, `unchanged` those that the target has.

    `within_tolerance` of these differ in the last digits of floating point. `fell_back`: why an incremental run has
    compared everything instead. `touched`: how many values of the anchors the changes touch, where rows were found by
    these, and `touched_rows`: how many rows of the target, or of the query's result, have them. `verification`: how
    that agreed with a whole comparison, where one was made. `not_added_up`: why rows were found by touched values
    although the result can be added up from its changes. `sampled`: how many values of the anchors were computed again
    as a sample. `estimates`: what was foreseen once the touched values were known. `seconds`: how long the load took.
    `checksums` are those of the rows that will be published, where they are kept. `compared`: how many rows were
    compared where those of the rows published before have shown that others are the same.
    """

    rounds: tuple[Round, ...]
    source_rows: int
    unchanged: int
    within_tolerance: int = 0
    fell_back: Reason | None = None
    touched: int | None = None
    touched_rows: int | None = None
    verification: Verification | None = None
    not_added_up: Reason | None = None
    sampled: int | None = None
    estimates: Estimates | None = None
    seconds: LoadSeconds | None = None
    checksums: Checksums | None = None
    compared: int | None = None

    @property
    def first_base(self) -> int:
        """The target's version before anything of this run was applied."""
        return self.rounds[0].base

    @property
    def current(self) -> Round:
        """The newest round."""
        return self.rounds[-1]

    @property
    def replaced_partitions(self) -> int:
        """How many partitions are replaced without a comparison; rows written count as inserted, others as deleted."""
        return sum(len(c.partitions) for r in self.rounds for u in r.units for c in u.chunks)

    @property
    def slots(self) -> tuple[int, ...]:
        """Every slot that the run may have used, in order."""
        return tuple(sorted({u.slot for r in self.rounds for u in r.units}))

    def counts(self) -> ChangeCounts:
        """Rows of all planned chunks, direct loads left out."""
        chunks = (c for r in self.rounds for u in r.units for c in u.chunks)
        return sum((c.counts for c in chunks), ChangeCounts())
