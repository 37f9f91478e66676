"""Which files of a folder are data, and which folders are refused."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.changes.folders import MixedFolders, data_files
from airflow_refresh_provider.core.changes.pins import FileStamp


def stamps(*paths: str) -> tuple[FileStamp, ...]:
    return tuple(FileStamp(path=f"/in/{path}", size=9, modified=1) for path in paths)


@pytest.mark.parametrize(
    ("read", "ignored"),
    [
        (["a.parquet", "b.parquet"], []),
        (["a.parquet"], ["sub/b.parquet", "sub/deeper/c.parquet"]),
        (["day=1/a.parquet", "day=2/b.parquet"], ["stray.parquet"]),
        (["day=1/a.parquet", "day=1/below/b.parquet"], []),
        (["y=1/m=1/a.parquet", "Y=1/M=2/b.parquet"], ["stray.parquet"]),
        (["sub/day=1/a.parquet", "sub/day=2/b.parquet"], []),
        (["_day=1/a.parquet"], []),
        ([], ["sub/a.parquet"]),
    ],
)
def test_the_files_that_spark_reads_with_the_folder_are_its_data(read: list[str], ignored: list[str]) -> None:
    found = data_files("/in", stamps(*read, *ignored))
    assert (found.read, found.ignored) == (stamps(*read), stamps(*ignored))


def test_a_single_file_is_its_own_data_and_an_empty_one_is_none() -> None:
    [one] = stamps("a.parquet")
    assert data_files(one.path, (one,)).read == (one,)
    empty = one.model_copy(update={"size": 0})
    assert data_files("/in", (empty,)).ignored == (empty,)


@pytest.mark.parametrize(
    ("paths", "why"),
    [
        (["day=1/a.parquet", "sub/b.parquet"], "files elsewhere: below the folder itself and sub"),
        (["x/day=1/a.parquet", "y/day=1/a.parquet"], "files elsewhere: below x and y"),
        (["day=1/a.parquet", "hour=1/b.parquet"], "different columns: day=1 and hour=1"),
        (["day=1/DAY=2/a.parquet"], "one column twice: day=1/DAY=2"),
        (["day=1/a.parquet", "day=1/hour=1/b.parquet"], "different columns: day=1 and day=1/hour=1"),
    ],
)
def test_folders_that_cannot_be_read_together_are_named(paths: list[str], why: str) -> None:
    with pytest.raises(MixedFolders, match=why):
        data_files("/in", stamps(*paths))
