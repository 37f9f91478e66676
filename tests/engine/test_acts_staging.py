"""Staging: rows in splits, newest rows, change sets in chunks, and what is believed of a target."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_refresh_provider.core.changes.pins import FilesPin, FileStamp
from airflow_refresh_provider.core.plan.plan import ChangeCounts, Chunk, HashRange, Split, StagedTable, counts_by_vnode
from airflow_refresh_provider.core.plan.ways import Way
from airflow_refresh_provider.delta.tables.staging_folders import StagingFolders
from airflow_refresh_provider.errors import RefreshError
from airflow_refresh_provider.ports.tasks import Comparison, KeyReport, Source, StageTask
from tests.engine.acts import Lake, source

_LOW = HashRange(low=-(1 << 63), high=0)
_HIGH = HashRange(low=1, high=(1 << 63) - 1)


def _files(lake: Lake) -> Source:
    """A row-wise query over two parquet files, the first without the second's rows."""
    folder = Path(lake.place("fi[l]es {1}"))
    rows = lake.spark.sql("SELECT id AS k, concat('v ', id) AS `a b` FROM range(0, 20, 1, 2)")
    rows.write.parquet(str(folder.with_name("plain")), mode="overwrite")
    folder.mkdir(parents=True)
    for number, file in enumerate(sorted(folder.with_name("plain").glob("*.parquet"))):
        (folder / f"f*{number}.parquet").write_bytes(file.read_bytes())
    stamps = tuple(FileStamp(path=str(f), size=1, modified=1) for f in sorted(folder.glob("*.parquet")))
    pin = FilesPin(format="parquet", location=str(folder), files=stamps, rows=20)
    return source("SELECT k, upper(`a b`) AS `a b` FROM x WHERE k <> 3", "k", pins={"x": pin})


def _splits(files: Source) -> list[Split]:
    return [Split(number=n, files=(path,)) for n, path in enumerate(files.reads["x"].paths, start=1)]


def _staged(lake: Lake, location: str) -> StagedTable:
    return StagedTable(location=location, version=lake.log.newest(location))


def test_rows_staged_in_splits_are_staged_once_and_compared_like_the_query(lake: Lake) -> None:
    files = _files(lake)
    target = lake.target(files, by_vnode=True)
    location = lake.place("rows")
    stamps = [lake.stamp(target) for _ in _splits(files)]

    for split, stamp in [*zip(_splits(files), stamps, strict=True), (_splits(files)[1], stamps[1])]:
        task = StageTask(source=files, target=target, split=split, location=location, stamp=stamp, rows=10)
        lake.session.stage_rows(task)
    rows = _staged(lake, location)
    compared = lake.compare(target, files, rows=rows, one_chunk=0)
    lake.apply(target, files, compared, Way.APPEND)

    assert rows.version == 1
    assert (compared.total, compared.source_rows) == (ChangeCounts(inserted=19), 19)
    lake.assert_equal(target, files)


def test_all_rows_are_staged_as_inserts_and_appended_vnode_by_vnode(lake: Lake) -> None:
    wanted = source("SELECT id AS k, CAST(NULL AS STRING) AS v, map('a', id) AS m FROM range(19)", "k")
    target = lake.target(wanted)
    location, stamp = lake.place("rows"), lake.stamp(target)

    task = StageTask(source=wanted, target=target, split=None, location=location, stamp=stamp, rows=19)
    lake.session.stage_rows(task)
    lake.session.stage_rows(task)
    counts = counts_by_vnode(StagingFolders().changes(_staged(lake, location)))
    for vnode, count in counts.items():
        found = Comparison(
            changes=_staged(lake, location),
            counts={vnode: count},
            source_rows=19,
            target_rows=0,
            keys=KeyReport(rows=19),
        )
        lake.apply(target, wanted, found, Way.APPEND)

    assert sum(counts.values(), ChangeCounts()) == ChangeCounts(inserted=19) and len(counts) == target.vnodes
    lake.assert_equal(target, wanted)


@pytest.mark.parametrize(("one_chunk", "by_vnode"), [(None, False), (19, False), (18, True)])
@pytest.mark.parametrize("row_wise", [True, False])
def test_changes_of_several_chunks_are_laid_out_by_vnode_and_those_of_one_are_plain_files(
    lake: Lake, one_chunk: int | None, by_vnode: bool, row_wise: bool
) -> None:
    wanted = source("SELECT id AS k FROM range(19)", "k")
    target = lake.target(wanted)

    place = lake.place("cha[n]ges {a}")
    compared = lake.compare(target, wanted, one_chunk=one_chunk, row_wise=row_wise, expected_changes=19, location=place)
    folders = StagingFolders()

    assert compared.total == ChangeCounts(inserted=19)
    assert (folders.files(compared.changes) is None) == (compared.changes.version is not None) == by_vnode
    assert folders.has(compared.changes)
    assert sum(folders.changes(compared.changes).values()) == 19
    assert folders.span(compared.changes, "k") == (0, 18)


def test_plain_files_are_written_once_and_never_again(lake: Lake) -> None:
    wanted = source("SELECT id AS k FROM range(19)", "k")
    target, place = lake.target(wanted), lake.place("changes")
    compared = lake.compare(target, wanted, location=place)
    before = StagingFolders().files(compared.changes)

    with pytest.raises(RefreshError, match="already exists"):
        lake.compare(target, wanted, location=place)

    assert StagingFolders().files(compared.changes) == before


def test_splits_loaded_straight_into_an_empty_target_make_up_the_query(lake: Lake) -> None:
    files = _files(lake)
    target = lake.target(files)

    for split in _splits(files):
        task = lake.load(target, files, Chunk(number=split.number, way=Way.APPEND, split=split))
        lake.session.apply(task)

    assert lake.log.newest(target.location) == 2
    lake.assert_equal(target, files)


@pytest.mark.parametrize("way", [Way.MERGE, pytest.param(Way.KEYED_REPLACE, marks=pytest.mark.slow)])
def test_a_vnode_is_applied_in_hash_ranges_that_leave_each_other_alone(lake: Lake, way: Way) -> None:
    first = source("SELECT id AS k, 1 AS v FROM range(20)", "k")
    then = source("SELECT id AS k, 2 AS v FROM range(5, 25)", "k")
    target = lake.target(first, by_vnode=True, vnodes=1)
    lake.load(target, first)
    compared = lake.compare(target, then)
    before = lake.log.newest(target.location)

    for hashes in (_LOW, _HIGH):
        task = lake.apply(target, then, compared, way, keys=hashes)
        lake.session.apply(task)

    commits = lake.commits(target, before)
    assert [c.vnodes for c in commits] == [(0,), (0,)]
    assert all(c.bytes_added for c in commits)
    lake.assert_equal(target, then)


def test_a_chunk_without_changes_commits_its_marker_in_every_way(lake: Lake) -> None:
    first = source("SELECT id AS k, 1 AS v FROM range(3)", "k")
    target = lake.target(first)
    lake.load(target, first)
    compared = lake.compare(target, first)
    before = lake.log.newest(target.location)

    ways = (Way.APPEND, Way.KEYED_REPLACE, Way.REPLACE_ON, Way.MERGE)
    stamps = [lake.apply(target, first, compared, way).stamp for way in ways]

    assert [c.txns for c in lake.commits(target, before)] == [{s.app_id: s.marker.version} for s in stamps]
    lake.assert_equal(target, first)


def test_the_newest_row_of_each_key_counts_and_ties_are_broken_the_same_way(lake: Lake) -> None:
    query = "SELECT k, at, v FROM VALUES (1, 1, 'old'), (1, 2, 'new'), (2, NULL, 'x'), (2, 0, 'y'), {} t(k, at, v)"
    tied = ["(3, 5, 'a'), (3, 5, 'b')", "(3, 5, 'b'), (3, 5, 'a')"]
    first, turned = (source(query.format(rows), "k", latest_by="at") for rows in tied)
    target = lake.target(first)
    report = lake.keys(first)
    lake.load(target, first)

    assert (report.rows, report.duplicate_keys) == (3, 0)
    kept = {r.k: r.v for r in lake.spark.read.format("delta").load(target.location).collect()}
    assert (kept[1], kept[2]) == ("new", "y")
    assert lake.compare(target, turned).total == ChangeCounts()


def test_rows_that_left_the_query_stay_when_deletes_are_not_wanted(lake: Lake) -> None:
    first = source("SELECT id AS k, 1 AS v FROM range(5)", "k")
    target = lake.target(first)
    lake.load(target, first)

    compared = lake.compare(target, source("SELECT id AS k, 2 AS v FROM range(3, 7)", "k"), deletes=False)

    assert compared.total == ChangeCounts(inserted=2, updated=2)
    assert compared.target_rows == 5


def test_stored_hashes_hide_foreign_changes_until_they_are_not_believed(lake: Lake) -> None:
    first = source("SELECT id AS k, 1 AS v FROM range(5)", "k")
    target = lake.target(first, by_vnode=True)
    lake.load(target, first)
    lake.spark.sql(f"UPDATE delta.`{target.location.replace('`', '``')}` SET v = 9 WHERE k = 2").collect()

    assert lake.compare(target, first).total == ChangeCounts()
    assert lake.compare(target, first, stored_hashes=False).total == ChangeCounts(updated=1)
