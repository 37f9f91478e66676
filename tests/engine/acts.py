"""A lake of tiny tables on real Spark, and the acts of one engine session on it."""

from __future__ import annotations

import itertools
import uuid
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from airflow_refresh_provider.core.changes.pins import DeltaPin, VersionVector
from airflow_refresh_provider.core.changes.reads import Positions
from airflow_refresh_provider.core.definition.columns import HIDDEN, INTEGERS, ROW_HASH, VNODE, Column, visible
from airflow_refresh_provider.core.log.commits import Commit
from airflow_refresh_provider.core.log.marker import Marker, slot_app_id
from airflow_refresh_provider.core.log.note import Note, NoteKind
from airflow_refresh_provider.core.plan.plan import ChangeCounts, Chunk, Target
from airflow_refresh_provider.core.plan.ways import Way
from airflow_refresh_provider.delta.tables.staging_folders import StagingFolders
from airflow_refresh_provider.delta.tables.target_log import DeltaTableLog
from airflow_refresh_provider.ports.staging import Names
from airflow_refresh_provider.ports.tasks import (
    ApplyTask,
    CompareTask,
    Comparison,
    KeyReport,
    Source,
    Stamp,
    TargetSpec,
)
from airflow_refresh_provider.spark.acts import content, placing, sql
from airflow_refresh_provider.spark.connect.endpoint import Endpoint
from airflow_refresh_provider.spark.connect.sessions import close, connect
from airflow_refresh_provider.spark.engine import SparkEngineSession

VECTORS = {"delta.enableDeletionVectors": "true"}


class AllAreLarge:
    """No files are small enough to be read by the client."""

    def values(self, folder: str, columns: tuple[str, ...], most: int) -> list[tuple[Any, ...]] | None:
        return None

    def of_files(self, files: Names, columns: Names, most: int, chosen: Positions = ()) -> list[tuple[Any, ...]] | None:
        return None

    def stage(self, folder: str, types: tuple[str, ...], rows: Collection[tuple[Any, ...]]) -> None:
        raise AssertionError("nothing was read by the client")


class Lake:
    """Tables below a folder. Acts go through `session`, the look at what they did through `spark` and `log`."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.log = DeltaTableLog()
        self._folder = folder
        self._numbers = itertools.count(1)

    @property
    def session(self) -> SparkEngineSession:
        """Acts on the one Spark session, whatever an act before has raised."""
        return SparkEngineSession(self.spark, StagingFolders())

    def place(self, name: str = "table") -> str:
        """A location where nothing is yet."""
        return str(self._folder / f"{name} {next(self._numbers)}")

    def input(self, query: str) -> DeltaPin:
        """The rows of a query as a pinned Delta table."""
        location = self.place("input")
        self.spark.sql(query).write.format("delta").save(location)
        facts = self.log.facts(location)
        assert facts is not None
        return DeltaPin(location=location, table_id=facts.table_id, version=facts.version)

    def target(self, source: Source, *, by_vnode: bool = False, vnodes: int = 4, **looks: Any) -> Target:
        """An empty target that fits the source."""
        columns = self.session.describe(source)
        if by_vnode:
            columns += (Column(name=VNODE, type="int"), Column(name=ROW_HASH, type="bigint"))
            looks["partition_by"] = (VNODE,)
        spec = TargetSpec(location=self.place("target"), columns=columns, **({"properties": VECTORS} | looks))
        self.session.prepare(spec)
        return self.found(spec.location, vnodes)

    def found(self, location: str, vnodes: int = 4) -> Target:
        """The target at a location, as it is."""
        facts = self.log.facts(location)
        assert facts is not None
        return Target(
            location=location,
            table_id=facts.table_id,
            columns=facts.types,
            vnodes=vnodes,
            deletion_vectors=facts.properties.get("delta.enableDeletionVectors") == "true",
            partition_by=facts.partitioned_by,
            partitions=facts.partitions,
            small=facts.small,
        )

    def keys(self, source: Source) -> KeyReport:
        """What is found about the keys of a source, for a target in its own columns."""
        columns = self.session.describe(source)
        target = Target(location="/none", table_id="none", columns=columns, vnodes=1, deletion_vectors=False)
        return self.session.check_keys(source, target)

    def stamp(self, target: Target, kind: NoteKind = NoteKind.CHUNK) -> Stamp:
        """A stamp younger than all before it."""
        marker = Marker(1, next(self._numbers))
        note = Note(kind=kind, definition="it's", run="r", generation=1, chunk=marker.chunk)
        return Stamp(app_id=slot_app_id(target.table_id, 0), marker=marker, note=note)

    def load(self, target: Target, source: Source, chunk: Chunk | None = None) -> ApplyTask:
        """Append the source to an empty target."""
        task = ApplyTask(
            target=target,
            source=source,
            base=self.log.newest(target.location),
            changes=None,
            chunk=chunk or Chunk(number=1, way=Way.APPEND),
            stamp=self.stamp(target),
        )
        self.session.apply(task)
        return task

    def compare(self, target: Target, source: Source, **choices: Any) -> Comparison:
        """Stage the differences between source and target; by their keys first, if nothing else is chosen."""
        return self.session.compare(self.comparison(target, source, **choices))

    def comparison(self, target: Target, source: Source, **choices: Any) -> CompareTask:
        """What `compare` asks for."""
        task: dict[str, Any] = {
            "source": source,
            "rows": None,
            "target": target,
            "base": self.log.newest(target.location),
            "location": self.place("changes"),
            "stamp": self.stamp(target),
            "deletes": True,
            "vnodes": None,
            "one_chunk": None,
            "row_wise": True,
        }
        return CompareTask(**(task | choices))

    def apply(self, target: Target, source: Source, compared: Comparison, way: Way, **chunk: Any) -> ApplyTask:
        """Apply all of a change set as one chunk."""
        task = ApplyTask(
            target=target,
            source=source,
            base=self.log.newest(target.location),
            changes=compared.changes,
            chunk=Chunk(number=1, way=way, **({"by_vnode": compared.counts} | chunk)),
            stamp=self.stamp(target),
            span=self._span(target, source, compared, way),
        )
        self.session.apply(task)
        return task

    def _span(self, target: Target, source: Source, compared: Comparison, way: Way) -> tuple[int, int] | None:
        key = next(c for c in target.columns if c.name.lower() == source.keys[0].lower())
        measurable = compared.counts and way.joins_on_keys and key.type in INTEGERS
        return StagingFolders().span(compared.changes, key.name) if measurable else None

    def refresh(self, target: Target, source: Source, way: Way) -> ChangeCounts:
        """Compare, apply, apply again; the target then equals the source, in one commit that carries the stamp."""
        compared = self.compare(target, source, one_chunk=0 if way is Way.REPLACE_VNODES else None)
        before = self.log.newest(target.location)
        task = self.apply(target, source, compared, way)
        self.session.apply(task)
        [commit] = self.commits(target, before)
        assert commit.txns == {task.stamp.app_id: task.stamp.marker.version}
        assert commit.note == task.stamp.note.text()
        # The log does not say how many rows a file had that was taken away whole.
        assert commit.net_rows in (None, compared.total.net)
        self.assert_equal(target, source)
        return compared.total

    def commits(self, target: Target, after: int) -> tuple[Commit, ...]:
        """What was committed to a target after a version."""
        return self.log.commits(target.location, after)

    def assert_equal(self, target: Target, source: Source) -> None:
        """Target and source have the same rows, and hidden columns are what the rows say."""
        found = self.spark.read.format("delta").load(target.location)
        names = [sql.name(c.name) for c in visible(target.columns)]
        right = "true"
        if HIDDEN[0] in found.columns:
            right = f"{VNODE} = {placing.vnode(target, source.keys)} AND {ROW_HASH} = {sql.row_hash(target.columns)}"
        shown = found.selectExpr("'target' AS where_", f"{right} AS hidden_", *names)
        wanted = content.result(self.spark, source).selectExpr("'query' AS where_", "true AS hidden_", *names)
        rows: dict[str, Counter[str]] = {"target": Counter(), "query": Counter()}
        # In one statement, and compared here: EXCEPT ALL both ways evaluates each side twice.
        for where, *row in shown.unionAll(wanted).collect():
            rows[where][repr(row)] += 1
        assert rows["target"] - rows["query"] == rows["query"] - rows["target"] == Counter()


def source(query: str, *keys: str, pins: VersionVector | None = None, **more: Any) -> Source:
    """A query over no inputs, or over those given as pins."""
    reads = {name: pin.read({}) for name, pin in (pins or {}).items()}
    return Source(query=query, reads=reads, keys=keys, **more)


@contextmanager
def opened(endpoint: Endpoint, folder: Path) -> Iterator[Lake]:
    """A lake with a session of its own, in a folder whose name needs quoting everywhere."""
    spark = connect(endpoint, str(uuid.uuid4()))
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    try:
        yield Lake(spark, folder / "l'a`k e ü")
    finally:
        close(spark)
