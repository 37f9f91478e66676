"""Folders of staged data."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from deltalake import write_deltalake

from airflow_refresh_provider.core.definition.columns import OP, VNODE
from airflow_refresh_provider.core.plan.plan import StagedTable
from airflow_refresh_provider.delta.tables.staging_folders import StagingFolders
from airflow_refresh_provider.errors import RefreshError

FOLDERS = StagingFolders()


def test_a_folder_is_dropped_with_everything_in_it(tmp_path: Path) -> None:
    run = tmp_path / "orders" / "run 'ü'"
    (run / "rows" / "_delta_log").mkdir(parents=True)
    (run / "rows" / "_delta_log" / "0.json").touch()
    FOLDERS.drop(str(run))
    assert list((tmp_path / "orders").iterdir()) == []


def test_dropping_what_is_not_there_does_nothing(tmp_path: Path) -> None:
    FOLDERS.drop(str(tmp_path / "nowhere"))
    assert list(tmp_path.iterdir()) == []


def test_runs_are_the_folders_below_a_root(tmp_path: Path) -> None:
    for name in ("r2", "r1"):
        (tmp_path / name / "changes").mkdir(parents=True)
    (tmp_path / "a file").touch()
    assert FOLDERS.runs(str(tmp_path)) == (f"{tmp_path}/r1", f"{tmp_path}/r2")
    assert FOLDERS.runs(str(tmp_path / "nowhere")) == ()


def test_the_span_of_a_column_comes_from_statistics_alone(tmp_path: Path) -> None:
    place = str(tmp_path / "changes")
    write_deltalake(place, pa.table({"k": pa.array([5, -7], pa.int64()), "none": pa.array([None, 1], pa.int64())}))
    write_deltalake(
        place, pa.table({"k": pa.array([9], pa.int64()), "none": pa.array([None], pa.int64())}), mode="append"
    )
    staged = StagedTable(location=place, version=1)
    for file in tmp_path.glob("changes/*.parquet"):
        file.unlink()
    assert FOLDERS.span(staged, "k") == (-7, 9)
    assert FOLDERS.span(StagedTable(location=place, version=0), "k") == (-7, 5)
    assert FOLDERS.span(staged, "absent") is None
    assert FOLDERS.span(staged, "none") is None


def test_a_folder_that_two_drop_at_once_is_gone(tmp_path: Path) -> None:
    for n in range(500):
        (tmp_path / "run" / str(n)).mkdir(parents=True)
    threads = [threading.Thread(target=FOLDERS.drop, args=(str(tmp_path / "run"),)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not (tmp_path / "run").exists()


def test_the_files_of_staged_rows_are_those_of_their_version(tmp_path: Path) -> None:
    place, rows = str(tmp_path / "changes"), pa.table({"k": pa.array([1, 2], pa.int64())})
    write_deltalake(place, rows)
    write_deltalake(place, rows, mode="append")
    first, both = (FOLDERS.files(StagedTable(location=place, version=version)) for version in (0, 1))
    assert first is not None and both is not None
    assert set(first) < set(both) == {str(file) for file in tmp_path.glob("changes/*.parquet")}


def test_what_a_log_knows_more_of_than_its_files_is_no_list_of_files(tmp_path: Path) -> None:
    place = str(tmp_path / "changes")
    rows = pa.table({"k": pa.array([1, 2], pa.int64()), "day": pa.array([1, 2], pa.int32())})
    write_deltalake(place, rows, partition_by=["day"])
    assert FOLDERS.files(StagedTable(location=place, version=0)) is None


def plain(folder: Path, *files: dict[str, Any]) -> StagedTable:
    """A change set as Spark leaves it: files, and others that are not data."""
    folder.mkdir()
    for number, columns in enumerate(files):
        pq.write_table(pa.table(columns), folder / f"part-{number}.parquet")
        (folder / f".part-{number}.parquet.crc").write_bytes(b"crc")
    (folder / "_SUCCESS").touch()
    return StagedTable(location=str(folder), version=None)


def test_a_folder_of_files_is_counted_and_measured_like_a_table(tmp_path: Path) -> None:
    staged = plain(
        tmp_path / "cha[n]ges {1}",
        {VNODE: [3, 3, 1], OP: ["I", "I", "D"], "k": [5, -7, 6]},
        {VNODE: [3], OP: ["I"], "k": [9]},
    )
    assert FOLDERS.has(staged)
    assert FOLDERS.changes(staged) == {(3, "I"): 3, (1, "D"): 1}
    assert FOLDERS.span(staged, "k") == (-7, 9)
    assert FOLDERS.span(staged, "absent") is None
    assert FOLDERS.files(staged) == tuple(f"{staged.location}/part-{n}.parquet" for n in (0, 1))


def test_a_span_is_not_known_where_a_file_has_no_value(tmp_path: Path) -> None:
    rows: dict[str, list[object]] = {VNODE: [3], OP: ["I"]}
    staged = plain(tmp_path / "changes", rows | {"k": [5]}, {**rows, "k": [None]})
    assert FOLDERS.span(staged, "k") is None


def test_no_folder_is_no_change_set(tmp_path: Path) -> None:
    staged = StagedTable(location=str(tmp_path / "changes"), version=None)
    assert not FOLDERS.has(staged)
    assert FOLDERS.files(staged) == ()
    assert FOLDERS.span(staged, "k") is None


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    staged = plain(tmp_path / "changes", {VNODE: [3], OP: ["I"]})
    (tmp_path / "changes" / "part-0.parquet").write_bytes(b"PAR1 no more PAR1")
    with pytest.raises(RefreshError, match=r"part-0\.parquet"):
        FOLDERS.changes(staged)


def test_values_of_small_folders_are_read_by_the_client(tmp_path: Path) -> None:
    moments = pa.array([None, 5], pa.timestamp("us", "UTC"))
    rows = {"a.b": [1, None], "day": pa.array([-1, 70000], pa.date32()), "at": moments, "s": ["x", "é"]}
    staged = plain(tmp_path / "changes", rows, {**rows, "a.b": [3, 4]})
    columns = ("s", "a.b", "day", "at")
    first, second = [("x", 1, -1, None), ("é", None, 70000, 5)], [("x", 3, -1, None), ("é", 4, 70000, 5)]
    assert FOLDERS.values(staged.location, columns, 4) == first + second
    assert FOLDERS.values(staged.location, columns, 3) is None
    assert FOLDERS.values(str(tmp_path / "absent"), columns, 3) == []


@pytest.mark.parametrize(("files", "read"), [(32, True), (33, False)])
def test_values_in_many_files_are_left_to_spark(tmp_path: Path, files: int, read: bool) -> None:
    staged = plain(tmp_path / "changes", *({"k": [n]} for n in range(files)))
    found = FOLDERS.values(staged.location, ("k",), 100)
    assert (found is not None and {k for (k,) in found} == set(range(files))) is read


def test_values_of_a_damaged_file_are_not_read_by_the_client(tmp_path: Path) -> None:
    staged = plain(tmp_path / "changes", {"k": [1]})
    (tmp_path / "changes" / "part-0.parquet").write_bytes(b"PAR1 no footer PAR1")
    assert FOLDERS.values(staged.location, ("k",), 10) is None


def test_values_of_files_are_read_by_the_client(tmp_path: Path) -> None:
    rows = {"K": [1, None], "s": ["x", None], "b": [True, None], "f": [float("nan"), None]}
    typed = {"d": pa.array([70000, None], pa.date32()), "at": pa.array([5, None], pa.timestamp("us"))}
    plain(tmp_path / "in", {**rows, **typed}, {**rows, **typed, "more": [1, 2]})
    files = tuple(str(tmp_path / "in" / f"part-{n}.parquet") for n in (0, 1))
    first = [(1, "x", True, ("nan",), ("70000",), ("5",)), (None,) * 6]
    columns = ("k", "S", "b", "f", "d", "at")
    assert FOLDERS.of_files(files, columns, 4) == first * 2
    assert FOLDERS.of_files(files, columns, 3) is None
    assert FOLDERS.of_files(files, ("more",), 9) is None, "one file does not have it"
    assert FOLDERS.of_files((*files, str(tmp_path / "absent")), ("k",), 9) is None
    (tmp_path / "in" / "part-0.parquet").write_bytes(b"PAR1 no footer PAR1")
    assert FOLDERS.of_files(files, ("k",), 9) is None


def test_a_column_that_a_file_has_twice_is_not_read_by_the_client(tmp_path: Path) -> None:
    plain(tmp_path / "in", {"k": [1], "K": [2]})
    assert FOLDERS.of_files((str(tmp_path / "in" / "part-0.parquet"),), ("k",), 9) is None


def test_values_are_staged_by_the_client(tmp_path: Path) -> None:
    folder = str(tmp_path / "run" / "touched")
    rows = {(-(2**63), "é", True), (5, None, None)}
    for _ in range(2):
        FOLDERS.stage(folder, ("bigint", "string", "boolean"), rows)
    assert set(FOLDERS.values(folder, ("k0", "k1", "k2"), 9) or ()) == rows
    FOLDERS.stage(folder, ("int", "tinyint"), set())
    assert FOLDERS.values(folder, ("k0", "k1"), 9) == []
    schema = pq.read_schema(tmp_path / "run" / "touched" / "part-0.parquet")
    assert [str(field.type) for field in schema] == ["int32", "int8"]


def test_the_rows_of_a_folder_are_counted_by_its_footers(tmp_path: Path) -> None:
    folder = plain(tmp_path / "sums", {"sum": [1, 2, 3]}, {"sum": [4]}).location
    assert FOLDERS.rows(folder) == 4
    (tmp_path / "sums" / "part-1.parquet").write_bytes(b"damaged")
    assert FOLDERS.rows(folder) == 3
    assert FOLDERS.rows(str(tmp_path / "nowhere")) == 0
