"""Sealing without Spark: delta-rs on real tables, and the fake, do the same."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

from airflow_refresh_provider.core.definition.columns import Column
from airflow_refresh_provider.core.log.marker import Marker
from airflow_refresh_provider.core.log.note import Note, NoteKind
from airflow_refresh_provider.core.plan.plan import Target
from airflow_refresh_provider.delta.tables import seals
from airflow_refresh_provider.delta.tables.seals import DeltaSeals
from airflow_refresh_provider.delta.tables.target_log import DeltaTableLog
from airflow_refresh_provider.errors import Conflict
from airflow_refresh_provider.ports.seals import Seals, Unsealed
from airflow_refresh_provider.ports.table_log import TableLog
from airflow_refresh_provider.ports.tasks import Stamp
from airflow_refresh_provider.testing.memory_lake import MemoryLake
from airflow_refresh_provider.testing.memory_reads import MemoryLog
from airflow_refresh_provider.testing.memory_seals import MemorySeals
from airflow_refresh_provider.testing.memory_table import Change
from tests.contract.rights import without_rights
from tests.contract.tables import rows

COLUMNS = (Column(name="id", type="bigint"),)
APP = "app/seal"


class Real:
    """A Delta table on disk."""

    def __init__(self, folder: Path) -> None:
        self.location = str(folder / "a target")
        self.seals: Seals = DeltaSeals()
        self.log: TableLog = DeltaTableLog()

    def create(self) -> None:
        write_deltalake(self.location, rows(1))

    def commit(self, marker: Marker | None = None) -> None:
        own = CommitProperties(app_transactions=[Transaction(APP, marker.version)] if marker else None)
        write_deltalake(self.location, rows(1), mode="append", commit_properties=own)


class Fake:
    """The same in memory."""

    def __init__(self, _folder: Path) -> None:
        self.lake = MemoryLake()
        self.location = "/a target"
        self.seals: Seals = MemorySeals(self.lake)
        self.log: TableLog = MemoryLog(self.lake)

    def create(self) -> None:
        self.lake.create(self.location, COLUMNS, [{"id": 1}])

    def commit(self, marker: Marker | None = None) -> None:
        table = self.lake.table(self.location)
        table.commit(table.newest, Change("WRITE", added=({"id": 2},)), stamp(marker) if marker else None)


Bench = Real | Fake


@pytest.fixture(params=[Fake, Real])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    made: Bench = request.param(tmp_path)
    made.create()
    return made


def stamp(marker: Marker) -> Stamp:
    note = Note(kind=NoteKind.SEAL, definition="d", run="r", generation=marker.generation)
    return Stamp(app_id=APP, marker=marker, note=note)


def target(bench: Bench) -> Target:
    facts = bench.log.facts(bench.location)
    assert facts is not None
    return Target(location=bench.location, table_id=facts.table_id, columns=COLUMNS, vnodes=1, deletion_vectors=False)


def test_a_seal_is_one_commit_with_marker_and_note_that_changes_no_row(bench: Bench) -> None:
    before, wanted = bench.log.newest(bench.location), stamp(Marker(3, 1))
    assert bench.seals.commit(target(bench), wanted) is None
    (commit,) = bench.log.commits(bench.location, after=before)
    assert (commit.txns, commit.note) == ({APP: wanted.marker.version}, wanted.note.text())
    assert (commit.data_change, commit.reshaped, commit.net_rows) == (False, False, 0)
    assert bench.log.markers(bench.location) == {APP: wanted.marker.version}


def test_a_seal_adds_no_file(tmp_path: Path) -> None:
    bench = Real(tmp_path)
    bench.create()
    files = set(Path(bench.location).glob("*"))
    assert bench.seals.commit(target(bench), stamp(Marker(3, 1))) is None
    assert set(Path(bench.location).glob("*")) == files


@pytest.mark.parametrize("marker", [Marker(3, 1), Marker(4, 0)], ids=["its own", "a younger one"])
def test_nothing_is_committed_where_the_marker_is_there(bench: Bench, marker: Marker) -> None:
    bench.commit(marker)
    before = bench.log.newest(bench.location)
    assert bench.seals.commit(target(bench), stamp(Marker(3, 1))) is None
    assert bench.log.newest(bench.location) == before


def test_a_commit_that_a_checkpoint_goes_with_is_left_to_spark(bench: Bench) -> None:
    found = set()
    for generation in range(1, 12):
        before = bench.log.newest(bench.location)
        why = bench.seals.commit(target(bench), stamp(Marker(generation, 1)))
        found.add(why)
        assert why == (Unsealed.CHECKPOINT if (before + 1) % 10 == 0 else None)
        if why:
            assert bench.log.newest(bench.location) == before
            bench.commit()
    assert found == {None, Unsealed.CHECKPOINT}


def test_a_commit_between_opening_and_committing_is_a_conflict(tmp_path: Path) -> None:
    """As of a process that was stopped there, and woke up after its seal was fenced."""
    bench = Real(tmp_path)
    bench.create()
    view = DeltaTable(bench.location)
    bench.commit(Marker(4, 0))
    with pytest.raises(Conflict):
        seals._commit(view, bench.location, stamp(Marker(3, 1)))
    assert bench.log.markers(bench.location) == {APP: Marker(4, 0).version}


def test_a_commit_of_another_writer_that_comes_first_is_a_conflict() -> None:
    bench = Fake(Path())
    bench.create()

    def overtaken(step: str) -> None:
        if step.startswith("commit "):
            bench.lake.step = lambda _step: None
            bench.commit()

    bench.lake.step = overtaken
    with pytest.raises(Conflict):
        bench.seals.commit(target(bench), stamp(Marker(3, 1)))


def test_another_table_in_its_place_is_not_sealed(tmp_path: Path) -> None:
    bench = Real(tmp_path)
    bench.create()
    before = target(bench)
    shutil.rmtree(bench.location)
    bench.create()
    with pytest.raises(Conflict, match="another table"):
        bench.seals.commit(before, stamp(Marker(3, 1)))
    assert bench.log.newest(bench.location) == 0


def test_a_target_that_this_process_may_not_write_is_left_to_spark(folder: Path) -> None:
    bench = Real(folder)
    bench.create()
    wanted = target(bench)
    with without_rights(folder, 0o555):
        assert bench.seals.commit(wanted, stamp(Marker(3, 1))) == Unsealed.DENIED
    assert bench.seals.commit(wanted, stamp(Marker(3, 1))) is None


@pytest.mark.parametrize(
    "protocol",
    [
        {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["domainMetadata", "clustering"]},
        {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["inCommitTimestamp"]},
        {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["rowTracking", "domainMetadata"]},
        {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["a feature of tomorrow"]},
        {"minReaderVersion": 1, "minWriterVersion": 6},
    ],
    ids=str,
)
def test_tables_with_features_that_ask_more_of_a_commit_are_left_to_spark(
    tmp_path: Path, protocol: dict[str, Any]
) -> None:
    bench = Real(tmp_path)
    bench.create()
    commit = Path(bench.location) / "_delta_log" / f"{1:020d}.json"
    commit.write_text(json.dumps({"protocol": protocol}))
    assert bench.seals.commit(target(bench), stamp(Marker(3, 1))) == Unsealed.FEATURES
    assert bench.log.newest(bench.location) == 1
