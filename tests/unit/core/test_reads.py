"""Which files are enough to find the columns of all."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.changes.pins import FilesPin, FileStamp
from airflow_refresh_provider.core.changes.reads import Read, delta_table


def read(*paths: str, **options: str) -> Read:
    stamps = tuple(FileStamp(path=f"/in/{path}", size=1, modified=1) for path in paths)
    return FilesPin(format="parquet", location="/in", files=stamps).read(options)


@pytest.mark.parametrize(
    ("paths", "found"),
    [
        (("b", "a", "c"), {"a"}),
        (("day=2/a", "day=1/z", "day=1/b", "day=2/c"), {"day=1/b", "day=2/a"}),
        # Java sorts by UTF-16, in which a character beyond the first plane comes before this one.
        (("\ufb01", "\U0001f600"), {"\U0001f600"}),
    ],
)
def test_the_first_file_of_each_folder_has_the_columns_of_all(paths: tuple[str, ...], found: set[str]) -> None:
    assert set(read(*paths).for_columns().paths) == {f"/in/{path}" for path in found}


@pytest.mark.parametrize(("given", "few"), [("true", False), ("TRUE", False), ("yes", False), ("false", True)])
def test_where_schemas_are_merged_all_files_are_needed(given: str, few: bool) -> None:
    whole = read("a", "b", MergeSchema=given)
    assert (whole.for_columns() == whole) is not few


def test_what_is_no_list_of_parquet_files_is_read_as_it_is() -> None:
    for whole in (delta_table("/in", {}), read("a").model_copy(update={"format": "orc"}), read()):
        assert whole.for_columns() == whole
