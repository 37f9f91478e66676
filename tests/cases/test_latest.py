"""The newest row of each key, over files that come in any order."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.run.results import Rows
from tests.cases.case import Case


@pytest.mark.slow
def test_late_and_newer_rows_of_new_files_leave_the_newest_row_of_each_key(case: Case) -> None:
    case.file("src/a.parquet", id=[1, 2], v=["new", "x"], at=[5, 1])
    case.define("SELECT id, v, at FROM src", "parquet", mode="auto", on_duplicate="latest", latest_by="at")
    case.run()

    case.file("src/b.parquet", id=[1, 2, 3, 3], v=["late", "newer", "n", "m"], at=[2, 2, 1, 2])
    assert case.refresh().rows == Rows(inserted=1, updated=1, unchanged=1)
    assert case.found("SELECT id, v FROM target") == {(1, "new"), (2, "newer"), (3, "m")}
