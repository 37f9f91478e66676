"""A table is deleted by its log: what lies in its folder and is not its own stays, and is named."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from deltalake import DeltaTable, write_deltalake

from airflow_refresh_provider.delta.tables.table_folders import StoredTableFolders


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "p p": pa.array([f"é {i}" for i in ids])})


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_a_table_goes_with_its_old_files_and_its_folder(tmp_path: Path) -> None:
    place = tmp_path / "gold"
    write_deltalake(place, rows(1, 2), partition_by=["p p"], configuration={"delta.enableChangeDataFeed": "true"})
    table = DeltaTable(place)
    table.update(predicate="id = 1", updates={"id": "7"})
    table.delete("id = 2")
    table.create_checkpoint()
    write_deltalake(place, rows(3), mode="append")
    assert StoredTableFolders().delete_table(str(place)) == ()
    assert not place.exists()
    assert StoredTableFolders().delete_table(str(place)) == ()


@pytest.mark.parametrize("deleted", range(1, 9))
def test_a_deletion_that_was_interrupted_is_repeated(tmp_path: Path, deleted: int) -> None:
    place = tmp_path / "gold"
    for number in range(3):
        write_deltalake(place, rows(number), mode="append")
    DeltaTable(place).create_checkpoint()
    for file in place.glob("*.parquet"):
        file.unlink()
    for file in sorted((place / "_delta_log").iterdir(), reverse=True)[:deleted]:
        file.unlink()
    if list((place / "_delta_log").iterdir()):
        assert StoredTableFolders().delete_table(str(place)) == ()
        assert not place.exists()


def test_another_table_below_and_files_of_others_stay(tmp_path: Path) -> None:
    place = tmp_path / "gold"
    write_deltalake(place, rows(1))
    write_deltalake(place / "inner", rows(5))
    (place / "notes.txt").write_text("mine")
    inner = {f"inner/{file}" for file in files(place / "inner")}

    left = StoredTableFolders().delete_table(str(place))

    assert set(left) == files(place) == {*inner, "notes.txt"}
    assert DeltaTable(place / "inner").to_pyarrow_table().to_pylist() == rows(5).to_pylist()


def test_links_are_followed_on_a_local_disk_only(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    folders = StoredTableFolders()
    assert folders.resolved(f"{tmp_path}/link/gold") == f"{tmp_path}/real/gold"
    assert folders.resolved("s3://bucket/link") == "s3://bucket/link"


def test_files_of_spark_without_a_row_and_checksums_go_with_the_table(tmp_path: Path) -> None:
    place = tmp_path / "gold"
    write_deltalake(place, rows(1))
    for file in place.glob("*.parquet"):
        (place / f".{file.name}.crc").write_bytes(b"crc")
    for name, ids in (("part-00000-empty-c000.snappy.parquet", ()), ("part-00001-lost-c000.snappy.parquet", (5,))):
        pq.write_table(rows(*ids), place / name)
        (place / f".{name}.crc").write_bytes(b"crc")
    pq.write_table(rows(), place / "mine.parquet")
    vector = f"deletion_vector_{uuid4()}.bin"
    write_deltalake(place / "inner", rows(5))
    for folder in (place, place / "inner"):
        (folder / vector).write_bytes(b"vector")
    inner = {f"inner/{file}" for file in files(place / "inner")}

    left = StoredTableFolders().delete_table(str(place))

    lost = "part-00001-lost-c000.snappy.parquet"
    assert set(left) == files(place) == {"mine.parquet", lost, f".{lost}.crc", *inner}
