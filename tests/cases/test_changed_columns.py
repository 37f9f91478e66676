"""Columns of inputs and targets that are dropped, renamed, added again, or given another type."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.run.results import Rows
from tests.cases.case import Case


@pytest.mark.slow
def test_a_column_that_was_dropped_and_added_again_is_null_in_old_rows(case: Case) -> None:
    case.do(
        "CREATE TABLE {src} (id INT, note STRING) USING delta "
        "TBLPROPERTIES ('delta.columnMapping.mode' = 'name', 'delta.enableChangeDataFeed' = 'true')",
        "INSERT INTO {src} VALUES (1, 'a'), (2, 'b')",
    )
    case.define("SELECT id, note FROM src", mode="incremental")
    case.refresh()

    case.do(
        "ALTER TABLE {src} DROP COLUMN note",
        "ALTER TABLE {src} ADD COLUMN note STRING",
        "INSERT INTO {src} VALUES (3, 'c')",
    )
    assert case.refresh().rows == Rows(inserted=1, updated=2)
    assert case.found("SELECT * FROM target") == {(1, None), (2, None), (3, "c")}


@pytest.mark.slow
def test_a_widened_column_is_refused_by_name_and_types_and_only_where_the_query_reads_it(case: Case) -> None:
    case.do(
        "CREATE TABLE {src} (id INT, qty INT, other SMALLINT) USING delta "
        "TBLPROPERTIES ('delta.enableTypeWidening' = 'true', 'delta.enableChangeDataFeed' = 'true')",
        "INSERT INTO {src} VALUES (1, 10, 1), (2, 20, 2)",
    )
    case.define("SELECT id, qty FROM src", mode="incremental")
    case.refresh()

    case.do("ALTER TABLE {src} ALTER COLUMN other TYPE BIGINT", "INSERT INTO {src} VALUES (3, 30, 5000000000)")
    assert case.refresh().rows == Rows(inserted=1, unchanged=2)

    case.do("ALTER TABLE {src} ALTER COLUMN qty TYPE BIGINT", "INSERT INTO {src} VALUES (4, 5000000000, 5)")
    error = case.refused("schema_change", "column qty", "int", "bigint", "CAST")
    assert error.exit_code == 3


@pytest.mark.slow
def test_a_target_with_renamed_columns_is_adopted_and_a_later_rename_is_refused_by_both_names(case: Case) -> None:
    case.rows("src", id=[1, 2], amount=[10, 20], note=["a", "b"])
    case.do(
        "CREATE TABLE {target} (id INT, old INT, amt INT, note STRING) USING delta "
        "TBLPROPERTIES ('delta.columnMapping.mode' = 'id')",
        "INSERT INTO {target} VALUES (1, 0, 9, 'a')",
        "ALTER TABLE {target} DROP COLUMN old",
        "ALTER TABLE {target} RENAME COLUMN amt TO `Net amount`",
    )
    case.define("SELECT id, amount AS `Net amount`, note FROM src", adopt=True)
    assert case.refresh().rows == Rows(inserted=1, updated=1)

    case.update("src", "id = 2", amount="21")
    assert case.refresh().rows == Rows(updated=1, unchanged=1)

    case.do("ALTER TABLE {target} RENAME COLUMN note TO remark")
    case.rows("src", id=[3], amount=[30], note=["c"])
    case.refused("schema_change", "remark")
