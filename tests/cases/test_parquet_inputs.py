"""Folders of parquet files: what counts as a file of them, and folders that do not fit together."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_refresh_provider.core.run.results import Rows
from airflow_refresh_provider.views.tables import table_of
from tests.cases.case import NAME, Case


def test_a_column_of_the_folders_that_turns_from_number_to_text_is_refused_with_both_types(case: Case) -> None:
    for batch in (1, 2):
        case.file(f"src/batch={batch}/f.parquet", id=[batch])
    case.define("SELECT id, batch FROM src", "parquet", mode="incremental")
    case.run()

    case.file("src/batch=3b/f.parquet", id=[3])
    case.refused("schema_change", "column batch", "int", "string", "CAST")


def test_a_folder_that_is_published_by_another_link_is_read_again_and_a_linked_file_with_it(case: Case) -> None:
    case.file("blue/a.parquet", id=[1, 2, 3], v=[1, 2, 3])
    case.file("green/a.parquet", id=[1, 2, 9], v=[1, 2, 9])
    link = Path(case.place("src"))
    link.symlink_to(case.folder / "blue")
    case.define("SELECT id, v FROM src", "parquet", mode="incremental")
    case.run()

    link.unlink()
    link.symlink_to(case.folder / "green")
    case.file("elsewhere/b.parquet", id=[20], v=[20])
    case.file("elsewhere/sub/c.parquet", id=[30], v=[30])
    (case.folder / "green" / "b.parquet").symlink_to(case.folder / "elsewhere" / "b.parquet")
    (case.folder / "green" / "sub").symlink_to(case.folder / "elsewhere" / "sub")
    assert case.refresh().rows == Rows(inserted=2, deleted=1, unchanged=2)


def test_a_stray_file_beside_folders_is_read_neither_alone_nor_with_the_whole(case: Case) -> None:
    for day in (1, 2):
        case.file(f"src/day=2024-01-0{day}/f.parquet", id=[day], v=[day])
    case.define("SELECT id, v FROM src", "parquet", mode="incremental")
    case.run()

    case.file("src/stray.parquet", id=[20], v=[20])
    case.file("src/day=2024-01-03/f.parquet", id=[3], v=[3])
    result = case.refresh()
    assert (result.mode, result.rows) == ("incremental", Rows(inserted=1, unchanged=2))
    assert (result.ignored_files["src"].example or "").endswith("stray.parquet")
    [(_, not_read)] = [row for row in table_of(case.refreshes.show(NAME)).rows if row[0] == "files not read"]
    assert "src" in str(not_read) and "stray.parquet" in str(not_read)


@pytest.mark.slow
def test_a_thousand_small_files_and_then_ten_more_are_read(case: Case) -> None:
    _small_files(case, range(1500))
    case.define("SELECT id, v FROM src", "parquet", mode="incremental")
    assert case.refresh().rows == Rows(inserted=1500)

    _small_files(case, range(1500, 1510))
    result = case.refresh()
    assert (result.mode, result.rows) == ("incremental", Rows(inserted=10, unchanged=1500))


def _small_files(case: Case, numbers: range) -> None:
    for number in numbers:
        case.file(f"src/2024-01-01T{number:05d}.parquet", id=[number], v=[number])


@pytest.mark.parametrize("mode", ["full", "incremental"])
def test_the_file_that_a_row_lies_in_is_no_column(case: Case, mode: str) -> None:
    case.file("src/a.parquet", id=[1], amount=[10])
    case.define("SELECT id, amount, _metadata.file_name AS came_from FROM src", "parquet", mode=mode)
    case.refused("query_invalid", "_metadata", "store it in a column of the input")
