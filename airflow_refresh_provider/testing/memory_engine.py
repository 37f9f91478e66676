"""An engine without Spark: every act on data, done on a lake in memory.

Released sessions refuse further acts, but a statement that has started goes on, as it does in Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from airflow_refresh_provider.core.definition.columns import DOUBTFUL, OP, ROW_HASH, VNODE, Column, Columns, visible
from airflow_refresh_provider.core.definition.evolution import Evolution
from airflow_refresh_provider.core.plan.placing import partition_columns
from airflow_refresh_provider.core.plan.plan import StagedTable, Target
from airflow_refresh_provider.core.plan.replacing import MOST_PARTITIONS
from airflow_refresh_provider.errors import Failed, Retry
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
from airflow_refresh_provider.testing.memory_apply import applied, of_chunk, stored
from airflow_refresh_provider.testing.memory_checksums import checksums
from airflow_refresh_provider.testing.memory_lake import MemoryLake
from airflow_refresh_provider.testing.memory_partitions import anchor_columns, placed_by, rows_of
from airflow_refresh_provider.testing.memory_query import MemoryQueries
from airflow_refresh_provider.testing.memory_rows import (
    WAS,
    counts_of,
    differences,
    is_near,
    key_of,
    key_report,
    left_over,
    named,
    newest_changes,
    shown,
    with_hashes,
)
from airflow_refresh_provider.testing.memory_sample import anchors_of, is_drawn
from airflow_refresh_provider.testing.memory_sums import added_up_changes
from airflow_refresh_provider.testing.memory_table import SETS_PROPERTIES, Change, Row, Rows, Version


class MemoryEngine:
    """The fake of `Engine`. `views` is what catalog views show, by name: location, version, columns.

    `version` is what its sessions say that they are, `act_seconds` how long each of
    their acts takes.
    """

    def __init__(self, lake: MemoryLake, version: str = "in memory") -> None:
        self.lake = lake
        self.version = version
        self.act_seconds = 0.0
        self.released: set[str] = set()
        self.views: dict[str, tuple[str, int, tuple[str, ...]]] = {}

    def open(self, session_id: str) -> MemorySession:
        """A session under this id."""
        self.lake.step("open session")
        return MemorySession(self, session_id)

    def release(self, session_id: str) -> None:
        """Refuse further acts of a session."""
        self.lake.step("release session")
        self.released.add(session_id)


class MemorySession:
    """The fake of `EngineSession`."""

    def __init__(self, engine: MemoryEngine, session_id: str) -> None:
        self._engine = engine
        self._lake = engine.lake
        self._queries = MemoryQueries(engine.lake)
        self._id = session_id
        self._seconds = 0.0

    def engine(self) -> str:
        """The version that the engine was made with."""
        return self._engine.version

    def describe(self, source: Source) -> Columns:
        """Columns of the query's result."""
        self._alive()
        return self._queries.columns(source)

    def prepare(self, spec: TargetSpec) -> None:
        """Create the table, or add what is missing of its properties."""
        self._alive()
        self._lake.step(f"create {spec.location}")
        with self._lake.lock:
            if spec.location not in self._lake.tables:
                clustered = bool(spec.cluster_by)
                self._lake.add(spec.location, spec.columns, spec.properties, spec.partition_by, clustered)
                return
            there = self._lake.table(spec.location).newest.properties
        if spec.properties.items() <= there.items():
            return
        self._lake.transact(
            spec.location,
            lambda base: Change(SETS_PROPERTIES, properties={**base.properties, **spec.properties}),
            None,
        )

    def evolve(self, location: str, evolution: Evolution) -> None:
        """Add, widen and drop columns, those within others left out; old rows have NULL in new ones."""
        self._alive()

        def evolved(base: Version) -> Change:
            gone = {c.name.lower() for c in evolution.dropped}
            types = {c.name.lower(): c.type for c in evolution.widened}
            kept = [c for c in base.columns if c.name.lower() not in gone]
            there = {c.name.lower() for c in kept}
            added = (Column(name=c.name, type=c.type) for c in evolution.added if c.name.lower() not in there)
            changed = (Column(name=c.name, type=types.get(c.name.lower(), c.type)) for c in kept)
            return Change("ALTER TABLE", columns=(*changed, *added))

        self._lake.transact(location, evolved, None)

    def expect_commit(self, location: str) -> None:
        """Nothing is computed ahead here."""
        self._alive()

    def mark(self, target: Target, stamp: Stamp) -> None:
        """Commit a marker alone."""
        self._alive()
        self._lake.transact(target.location, lambda _base: Change("WRITE"), stamp)

    def check_keys(self, source: Source, target: Target) -> KeyReport:
        """Count rows, partitions, NULL keys and duplicate keys."""
        self._alive()
        return key_report(self._queries.rows(source), source.keys, partition_columns(target))

    def stage_rows(self, task: StageTask) -> None:
        """Append the rows of one split, or all."""
        self._alive()
        rows = (with_hashes(r, task.target, task.source.keys) for r in self._queries.rows(task.source, task.split))
        inserts = tuple({**r, OP: "I", WAS: None} for r in rows)
        self._stage(task.location, inserts, task.stamp, task.target.columns)

    def compare(self, task: CompareTask) -> Comparison:
        """Stage the differences between desired content and target."""
        self._alive()
        desired, found = self._both_sides(task)
        keys, of_result = task.source.keys, len(desired)
        made = None
        if task.checksums:
            made, differs = checksums(self._lake, task.checksums, desired, keys)
            desired, found = tuple(filter(differs, desired)), tuple(filter(differs, found))
        all_changes = differences(desired, found, keys, deletes=task.deletes, sound=task.target_rows is not None)
        changes = tuple(r for r in all_changes if not is_near(r, task.inexact, task.tolerance))
        rewrite = task.row_wise and task.rewrite_from is not None and len(changes) >= task.rewrite_from
        nothing = StagedTable(location=task.location, version=None)
        return Comparison(
            changes=nothing if rewrite else self._staged(task.location, changes, task.stamp, task.target.columns),
            counts=counts_of(changes),
            source_rows=of_result,
            target_rows=of_result - len(desired) + len(found),
            keys=key_report(desired, keys),
            rewrite=rewrite,
            within_tolerance=len(all_changes) - len(changes),
            checksums=made,
            compared=max(len(desired), len(found)) if task.checksums and task.checksums.known else None,
        )

    def touch(self, task: TouchTask) -> Touched:
        """Stage the values of the anchors that changes touch."""
        self._alive()
        return self._touched(self._queries.touched(task), task)

    def count_touched(self, target: Target, base: int, touched: Touched) -> int:
        """Count the rows of a version of the target that have touched values."""
        self._alive()
        return sum(map(self._among(touched), self._lake.rows(target.location, base)))

    def partitions(self, task: PartitionsTask) -> TouchedPartitions:
        """Reduce touched values to partitions, and count the rows of each."""
        self._alive()
        places = map(task.touched.maintenance.anchors.index, task.maintenance.anchors)
        names = tuple(f"k{n}" for n in places)
        found = {key_of(row, names) for row in self._lake.rows(task.touched.location)}
        touched = self._touched(tuple({f"k{n}": v for n, v in enumerate(values)} for values in found), task)
        if len(found) > MOST_PARTITIONS:
            return TouchedPartitions(touched=touched, partitions=())
        rows = self._lake.rows(task.target.location, task.base)
        return TouchedPartitions(
            touched=touched, partitions=rows_of(found, rows, task.target, anchor_columns(task.target, touched))
        )

    def recompute(self, task: RecomputeTask) -> Recomputed:
        """Stage the rows of touched partitions, each of these in one vnode."""
        self._alive()
        columns, keys = anchor_columns(task.target, task.touched), task.source.keys
        placed, among = placed_by(task.target, columns), self._among(task.touched)
        rows = tuple(with_hashes(row, placed, keys) for row in self._queries.rows(task.source))
        inserts = tuple({**row, OP: "I", WAS: None} for row in rows if among(row))
        return Recomputed(
            changes=self._staged(task.location, inserts, task.stamp, task.target.columns),
            partitions=rows_of(self._values(task.touched), inserts, task.target, columns),
            keys=key_report(inserts, keys),
        )

    def sample(self, task: SampleTask) -> Touched:
        """Stage the values of the anchors that some rows of the target have."""
        self._alive()
        without = self._values(task.without) if task.without else frozenset()
        found = {anchors_of(row, task.maintenance) for row in self._lake.rows(task.target.location, task.base)}
        drawn = sorted((v for v in found - without if is_drawn(v, task.share, task.seed)), key=repr)
        return self._touched(tuple({f"k{n}": v for n, v in enumerate(values)} for values in drawn), task)

    def verify(self, task: VerifyTask) -> Disagreement:
        """Compare two change sets by key, operation and exact columns."""
        self._alive()
        inexact = {name.lower() for name in task.inexact}
        among = self._among(task.among)

        def changes(of: StagedTable | None) -> dict[tuple[object, ...], str]:
            rows = tuple(filter(among, self._lake.rows(of.location, of.version))) if of else ()
            exact = ({n: v for n, v in row.items() if n.lower() not in inexact} for row in map(shown, rows))
            return {
                key_of(r, task.keys): f"{r[OP]} {e if r[OP] != 'D' else ''}" for r, e in zip(rows, exact, strict=True)
            }

        one, other = changes(task.one), changes(task.other)
        differing = [key for key in one.keys() | other.keys() if one.get(key) != other.get(key)]
        return Disagreement(keys=len(differing), examples=tuple(named(key, task.keys) for key in differing[:3]))

    def read_windows(self, task: WindowTask) -> StagedTable:
        """Stage how the query's result over the rows that came differs from that over the rows that went."""
        self._alive()
        keys = task.source.keys
        every_row = task.source.model_copy(update={"latest_by": None})
        before, after = self._queries.sides(every_row, task.changes)
        if task.sums:
            found = tuple(map(shown, self._lake.rows(task.target.location, task.base)))
            changes = added_up_changes(before, after, found, task.sums, task)
            return self._staged(task.location, changes, task.stamp, task.target.columns)
        old, new = left_over(*(tuple(with_hashes(r, task.target, keys) for r in rows) for rows in (before, after)))
        if task.source.latest_by:
            found = tuple(with_hashes(r, task.target, keys) for r in self._lake.rows(task.target.location, task.base))
            changes = newest_changes(old, new, found, keys, task.source.latest_by)
            return self._staged(task.location, changes, task.stamp, task.target.columns)
        reports = [key_report(rows, keys) for rows in (old, new)]
        if any(report.null_keys or report.duplicate_keys for report in reports):
            changes = tuple({**r, OP: DOUBTFUL, WAS: None} for r in new)
        else:
            changes = differences(new, old, keys, deletes=task.deletes)
        return self._staged(task.location, changes, task.stamp, task.target.columns)

    def apply(self, task: ApplyTask) -> None:
        """Bring one chunk in."""
        self._alive()
        target, keys = task.target, task.source.keys
        rewrite = task.chunk.way.reads_inputs
        if task.changes is None or rewrite:
            result = self._queries.rows(task.source, task.chunk.split)
            rows = tuple(stored(with_hashes(r, target, keys), target) for r in result)
            self._lake.transact(
                target.location,
                lambda base: Change("WRITE", rows, tuple(base.files) if rewrite else (), reads=None if rewrite else ()),
                task.stamp,
            )
            return
        changes = of_chunk(self._lake.rows(task.changes.location, task.changes.version), task.chunk, keys)
        compared = self._lake.rows(target.location, task.base) if task.chunk.way.keeps_rows else ()
        self._lake.transact(
            target.location, lambda base: applied(base, compared, changes, task.chunk, target, keys), task.stamp
        )

    def samples(
        self, changes: StagedTable, target: Target, keys: tuple[str, ...], base: int, limit: int
    ) -> tuple[Sample, ...]:
        """Some differences, each beside the row that the target has."""
        self._alive()
        staged = self._lake.rows(changes.location, changes.version)[:limit]
        return tuple(Sample(op=r[OP], desired=None if r[OP] == "D" else shown(r), found=r[WAS]) for r in staged)

    def show_version(self, view: str, location: str, version: int, columns: Columns) -> None:
        """Remember what the view shows."""
        self._alive()
        self._lake.step(f"view {view}")
        self._engine.views[view] = (location, version, tuple(c.name for c in visible(columns)))

    def seconds(self) -> float:
        """As long for each act."""
        return self._seconds

    def close(self) -> None:
        """End the session."""
        self._engine.released.add(self._id)

    def _alive(self) -> None:
        if self._id in self._engine.released:
            raise Retry(
                "session_lost",
                "the session has been released",
                left="The outcome of the last statement is not known.",
                next="Run again; the refresh goes on from its last commit.",
            )
        self._seconds += self._engine.act_seconds

    def _both_sides(self, task: CompareTask) -> tuple[Rows, Rows]:
        """Desired and found rows of the task's vnodes, with vnode and hash."""
        target, keys = task.target, task.source.keys
        result = (
            self._lake.rows(task.rows.location, task.rows.version) if task.rows else self._queries.rows(task.source)
        )
        desired = (with_hashes(r, target, keys) for r in result)
        found = (self._as_found(r, task) for r in self._lake.rows(target.location, task.base))

        among = self._among(task.touched)

        def within(rows: Iterable[Row]) -> Rows:
            return tuple(r for r in rows if (task.vnodes is None or r[VNODE] in task.vnodes) and among(r))

        return within(desired), within(found)

    def _touched(self, rows: Rows, task: TouchTask | PartitionsTask | SampleTask) -> Touched:
        self._lake.step(f"create {task.location}")
        with self._lake.lock:
            if task.location not in self._lake.tables:
                self._lake.create(task.location, (), rows)
        return Touched(location=task.location, maintenance=task.maintenance, rows=len(rows))

    def _values(self, touched: Touched) -> frozenset[tuple[object, ...]]:
        return frozenset(tuple(row.values()) for row in self._lake.rows(touched.location))

    def _among(self, touched: Touched | None) -> Callable[[Row], bool]:
        """Whether the anchors of a row are touched, or all rows are compared."""
        if touched is None:
            return lambda _row: True
        values, maintenance = self._values(touched), touched.maintenance
        return lambda row: anchors_of(row, maintenance) in values

    def _as_found(self, row: Row, task: CompareTask) -> Row:
        """A target's row; the vnode it lies in is a fact, its stored hash is only believed when it may be."""
        computed = with_hashes(row, task.target, task.source.keys)
        facts = {name: value for name, value in row.items() if name != ROW_HASH or task.stored_hashes}
        return {**computed, **facts}

    def _staged(self, location: str, rows: Rows, stamp: Stamp, columns: Columns) -> StagedTable:
        """A change set, staged. Its files are only ever written once."""
        with self._lake.lock:
            written = location in self._lake.tables
        if written:
            raise Failed("spark_failed", f"{location} already exists", left="Nothing was changed.", next="Run again.")
        self._stage(location, rows, stamp, columns)
        return StagedTable(location=location, version=None)

    def _stage(self, location: str, rows: Rows, stamp: Stamp, columns: Columns) -> None:
        """Append rows to a staged table, made when it is absent, once for each marker."""
        self._lake.step(f"create {location}")
        with self._lake.lock:
            if location not in self._lake.tables:
                self._lake.add(location, columns, {})
        self._lake.transact(location, lambda _base: Change("WRITE", added=rows), stamp)
