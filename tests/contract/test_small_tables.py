"""Rewriting a small table: delta-rs on real tables, and the fake, do the same."""

from __future__ import annotations

import json
import pickle
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

from airflow_refresh_provider.core.changes.pins import DeltaPin
from airflow_refresh_provider.core.definition.columns import OP, ROW_HASH, VNODE, Column
from airflow_refresh_provider.core.log.marker import Marker
from airflow_refresh_provider.core.log.note import Note, NoteKind
from airflow_refresh_provider.core.plan.plan import ChangeCounts, Chunk, StagedTable, Target
from airflow_refresh_provider.core.plan.ways import Way
from airflow_refresh_provider.delta.tables import small_tables
from airflow_refresh_provider.delta.tables.small_tables import SmallDeltaTables
from airflow_refresh_provider.delta.tables.target_log import DeltaTableLog
from airflow_refresh_provider.errors import Conflict
from airflow_refresh_provider.ports.small_tables import SmallTables, Unfit
from airflow_refresh_provider.ports.table_log import TableFacts, TableLog
from airflow_refresh_provider.ports.tasks import ApplyTask, Source, Stamp
from airflow_refresh_provider.testing.memory_lake import MemoryLake
from airflow_refresh_provider.testing.memory_reads import MemoryLog
from airflow_refresh_provider.testing.memory_small_tables import MemorySmallTables
from airflow_refresh_provider.testing.memory_table import Change
from tests.contract.rights import without_rights

COLUMNS = (Column(name="k", type="bigint"), Column(name="v", type="string"))
APP = "app/s0"
Row = dict[str, Any]
CHANGES = [("I", 7, "new"), ("U", 2, "b"), ("D", 3, "a")]
AFTER = [(1, "a"), (2, "b"), (7, "new")]


class Real:
    """A Delta table on disk, and a staged change set as Spark leaves it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.location = str(folder / "a target")
        self.tables: SmallTables = SmallDeltaTables()
        self.log: TableLog = DeltaTableLog()

    def create(self, rows: Iterable[tuple[int, str]]) -> None:
        write_deltalake(self.location, _arrow(rows))

    def append(self, rows: Iterable[tuple[int, str]], marker: Marker | None = None) -> None:
        own = CommitProperties(app_transactions=[Transaction(APP, marker.version)] if marker else None)
        write_deltalake(self.location, _arrow(rows), mode="append", commit_properties=own)

    def stage(self, changes: Iterable[tuple[str, int, str]]) -> StagedTable:
        folder = self.folder / "staged"
        folder.mkdir(exist_ok=True)
        for number, (op, k, v) in enumerate(changes):
            row = {"k": [k], "v": [v], ROW_HASH: [0], OP: [op], VNODE: pa.array([0], pa.int32())}
            pq.write_table(pa.table(row), folder / f"part-{number}.snappy.parquet")
        (folder / "_SUCCESS").touch()
        return StagedTable(location=str(folder), version=None)

    def rows(self) -> list[tuple[int, str]]:
        table = DeltaTable(self.location).to_pyarrow_table()
        return sorted(zip(table["k"].to_pylist(), table["v"].to_pylist(), strict=True))


class Fake:
    """The same in memory."""

    def __init__(self, _folder: Path) -> None:
        self.lake = MemoryLake()
        self.lake.plain = True
        self.location = "/a target"
        self.tables: SmallTables = MemorySmallTables(self.lake)
        self.log: TableLog = MemoryLog(self.lake)

    def create(self, rows: Iterable[tuple[int, str]]) -> None:
        self.lake.create(self.location, COLUMNS, [{"k": k, "v": v} for k, v in rows])

    def append(self, rows: Iterable[tuple[int, str]], marker: Marker | None = None) -> None:
        table = self.lake.table(self.location)
        change = Change("WRITE", added=tuple({"k": k, "v": v} for k, v in rows))
        table.commit(table.newest, change, _stamp(marker) if marker else None)

    def stage(self, changes: Iterable[tuple[str, int, str]]) -> StagedTable:
        rows = [{"k": k, "v": v, ROW_HASH: 0, OP: op, VNODE: 0} for op, k, v in changes]
        self.lake.create("/staged", COLUMNS, rows)
        return StagedTable(location="/staged", version=None)

    def rows(self) -> list[tuple[int, str]]:
        return sorted((r["k"], r["v"]) for r in self.lake.rows(self.location))


Bench = Real | Fake


@pytest.fixture(params=[Fake, Real])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    made: Bench = request.param(tmp_path)
    made.create([(1, "a"), (2, "a"), (3, "a")])
    return made


def _arrow(rows: Iterable[tuple[int, str]]) -> Any:
    given = list(rows)
    return pa.table(
        {"k": pa.array([k for k, _ in given], pa.int64()), "v": pa.array([v for _, v in given], pa.string())}
    )


def _task(bench: Bench, changes: StagedTable) -> ApplyTask:
    facts = _facts(bench)
    target = Target(
        location=bench.location, table_id=facts.table_id, columns=COLUMNS, vnodes=1, deletion_vectors=False, small=True
    )
    pin = DeltaPin(location="/in", table_id="in", version=0)
    return ApplyTask(
        target=target,
        source=Source(query="SELECT 1", reads={"x": pin.read({})}, keys=("k",)),
        base=facts.version,
        changes=changes,
        chunk=Chunk(number=1, way=Way.SMALL_TABLE, by_vnode={0: ChangeCounts(inserted=1)}),
        stamp=_stamp(Marker(3, 1)),
    )


def _facts(bench: Bench) -> TableFacts:
    facts = bench.log.facts(bench.location)
    assert facts is not None
    return facts


def _stamp(marker: Marker) -> Stamp:
    note = Note(kind=NoteKind.CHUNK, definition="d", run="r", generation=marker.generation)
    return Stamp(app_id=APP, marker=marker, note=note)


def test_the_changes_are_one_commit_with_marker_and_note(bench: Bench) -> None:
    task = _task(bench, bench.stage(CHANGES))
    assert bench.tables.rewrite(task) is None
    assert bench.rows() == AFTER
    assert bench.log.markers(bench.location) == {APP: task.stamp.marker.version}
    (commit,) = bench.log.commits(bench.location, after=task.base)
    assert (commit.note, commit.data_change, commit.reshaped) == (task.stamp.note.text(), True, False)
    assert commit.txns == {APP: task.stamp.marker.version}


def test_rows_that_others_have_added_since_the_comparison_stay(bench: Bench) -> None:
    task = _task(bench, bench.stage(CHANGES))
    bench.append([(9, "foreign")])
    assert bench.tables.rewrite(task) is None
    assert bench.rows() == [*AFTER, (9, "foreign")]


def test_a_rewritten_table_is_still_small(tmp_path: Path) -> None:
    """Its file is compressed as those of Spark."""
    bench = Real(tmp_path)
    bench.create([(k, f"the text of item {k}") for k in range(1, 10_001)])
    assert bench.tables.rewrite(_task(bench, bench.stage([("U", 2, "b")]))) is None
    (file,) = DeltaTable(bench.location).file_uris()
    row_group = pq.ParquetFile(unquote(file)).metadata.row_group(0)
    assert {row_group.column(number).compression for number in range(2)} == {"SNAPPY"}
    assert _facts(bench).small


@pytest.mark.parametrize("marker", [Marker(3, 1), Marker(4, 0)], ids=["its own", "a younger one"])
def test_nothing_is_committed_where_the_marker_is_there(bench: Bench, marker: Marker) -> None:
    task = _task(bench, bench.stage(CHANGES))
    bench.append([(9, "x")], marker)
    before = bench.log.newest(bench.location), bench.rows()
    assert bench.tables.rewrite(task) is None
    assert (bench.log.newest(bench.location), bench.rows()) == before


@pytest.mark.parametrize(
    "changes",
    [[("I", 1, "b")], [("U", 4, "b")], [("D", 4, "b")], [("U", 5, "b")], [("I", 8, "a"), ("U", 1, "b"), ("D", 9, "c")]],
    ids=["insert of a key that is there", "update of none", "delete of none", "update of two", "one of many"],
)
def test_changes_that_do_not_fit_are_not_committed(bench: Bench, changes: list[tuple[str, int, str]]) -> None:
    bench.append([(5, "one"), (5, "other")])
    staged = bench.stage(changes)
    task = _task(bench, staged)
    before = bench.log.newest(bench.location)
    assert not bench.tables.fits(task.target, ("k",), staged, before)
    assert bench.tables.rewrite(task) == Unfit.MISFIT
    assert bench.log.newest(bench.location) == before


def test_whether_changes_fit_is_asked_of_a_version(bench: Bench) -> None:
    staged = bench.stage(CHANGES)
    task = _task(bench, staged)
    bench.append([(7, "foreign")])
    assert bench.tables.fits(task.target, ("k",), staged, task.base)
    assert not bench.tables.fits(task.target, ("k",), staged, task.base + 1)


def test_a_table_that_this_process_may_not_write_is_left_to_spark(folder: Path) -> None:
    bench = Real(folder)
    bench.create([(1, "a"), (2, "a"), (3, "a")])
    task = _task(bench, bench.stage(CHANGES))
    with without_rights(folder, 0o555):
        assert bench.tables.rewrite(task) == Unfit.DENIED
    assert bench.log.newest(bench.location) == task.base
    assert bench.tables.rewrite(task) is None
    assert bench.rows() == AFTER


def test_a_table_with_many_rows_is_left_to_spark(bench: Bench) -> None:
    task = _task(bench, bench.stage(CHANGES))
    bench.append((n, "x") for n in range(100, 20_200))
    assert bench.tables.rewrite(task) == Unfit.NOT_SMALL


def test_a_table_with_other_columns_is_left_to_spark(bench: Bench) -> None:
    task = _task(bench, bench.stage(CHANGES))
    target = task.target.model_copy(update={"columns": COLUMNS[:1]})
    assert bench.tables.rewrite(task.model_copy(update={"target": target})) == Unfit.NOT_SMALL


def test_another_table_in_its_place_is_not_written(tmp_path: Path) -> None:
    bench = Real(tmp_path)
    bench.create([(1, "a")])
    task = _task(bench, bench.stage(CHANGES))
    shutil.rmtree(bench.location)
    bench.create([(2, "b"), (3, "c")])
    with pytest.raises(Conflict, match="another table"):
        bench.tables.rewrite(task)
    assert bench.rows() == [(2, "b"), (3, "c")]


def test_a_commit_that_a_checkpoint_goes_with_is_left_to_spark(bench: Bench) -> None:
    staged = bench.stage(CHANGES)
    while (bench.log.newest(bench.location) + 1) % 10:
        assert _facts(bench).small
        bench.append([(10 + bench.log.newest(bench.location), "x")])
    assert not _facts(bench).small
    assert bench.tables.rewrite(_task(bench, staged)) == Unfit.NOT_SMALL


def test_a_commit_between_reading_and_committing_is_a_conflict(tmp_path: Path) -> None:
    bench = Real(tmp_path)
    bench.create([(1, "a")])
    task = _task(bench, bench.stage(CHANGES))
    view = DeltaTable(bench.location)
    bench.append([(9, "foreign")])
    with pytest.raises(Conflict):
        small_tables.overwrite(view, bench.location, _arrow([(1, "b")]), task.stamp)
    assert bench.rows() == [(1, "a"), (9, "foreign")]


@pytest.mark.parametrize(
    "properties",
    [{"delta.appendOnly": "true"}, {"delta.enableChangeDataFeed": "true"}, {"delta.columnMapping.mode": "name"}],
    ids=str,
)
def test_tables_that_ask_more_of_a_writer_are_not_small(tmp_path: Path, properties: dict[str, str]) -> None:
    location = str(tmp_path / "t")
    write_deltalake(location, _arrow([(1, "a")]))
    facts = DeltaTableLog().facts(location)
    assert facts is not None and facts.small
    _set(location, properties)
    facts = DeltaTableLog().facts(location)
    assert facts is not None and not facts.small


def _set(location: str, properties: dict[str, str]) -> None:
    """A commit that gives the table properties, and the protocol of a writer that knows all of them."""
    log = Path(location) / "_delta_log"
    first = [json.loads(line) for line in (log / f"{0:020d}.json").read_text().splitlines()]
    about = next(action["metaData"] for action in first if "metaData" in action)
    schema = json.loads(about["schemaString"])
    for number, field in enumerate(schema["fields"], start=1):
        field["metadata"] = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": field["name"]}
    about = about | {"configuration": properties, "schemaString": json.dumps(schema)}
    protocol = {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}}
    (log / f"{1:020d}.json").write_text("\n".join(json.dumps(a) for a in ({"metaData": about}, protocol)))


_WITHOUT_PANDAS = """
import pickle, sys
from airflow_refresh_provider.delta.tables.small_tables import SmallDeltaTables
from airflow_refresh_provider.delta.tables.staging_folders import StagingFolders
task = pickle.load(sys.stdin.buffer)
counted = StagingFolders().changes(task.changes)
assert len(StagingFolders().values(task.changes.location, ("_vnode", "_op"), 10)) == 3
fits = SmallDeltaTables().fits(task.target, task.source.keys, task.changes, task.base)
print(sorted(counted.items()), fits, SmallDeltaTables().rewrite(task), "pandas" in sys.modules)
"""


def test_a_small_table_is_rewritten_without_pandas(tmp_path: Path) -> None:
    """Its import takes longer than all else (ADR 65)."""
    bench = Real(tmp_path)
    bench.create([(1, "a"), (2, "a"), (3, "a")])
    task = _task(bench, bench.stage(CHANGES))
    ended = subprocess.run(
        [sys.executable, "-c", _WITHOUT_PANDAS], input=pickle.dumps(task), capture_output=True, timeout=120
    )
    counted = [((0, "D"), 1), ((0, "I"), 1), ((0, "U"), 1)]
    assert (ended.stderr, ended.stdout.decode().strip()) == (b"", f"{counted} True None False")
    assert bench.rows() == AFTER
