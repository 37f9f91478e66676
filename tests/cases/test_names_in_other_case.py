"""Names of columns that differ in case only are the same."""

from __future__ import annotations

from typing import Any

import pytest
from deltalake import DeltaTable

from airflow_refresh_provider.core.run.results import Rows
from tests.cases.case import Case


def test_a_query_that_comes_to_name_its_columns_in_other_case_changes_only_rows_that_differ(case: Case) -> None:
    case.rows("src", id=[1, 2], amount=[10, 20])
    case.define("SELECT id, amount FROM src")
    case.run()

    case.define("SELECT ID, Amount FROM src", keys=["ID"])
    case.update("src", "id = 1", amount="11")
    assert case.refresh().rows == Rows(updated=1, unchanged=1)


@pytest.mark.slow
def test_a_partition_column_in_other_case_is_that_column_and_empty_text_in_it_is_null(case: Case) -> None:
    case.rows("src", id=[1, 2, 3], region=["north", "", None], v=[10, 20, 30])
    case.define("SELECT id, region, v FROM src", partition_by=["Region"])

    assert case.run().rows == Rows(inserted=3)
    assert case.run(force=True).rows == Rows(unchanged=3)
    assert case.compare().equal
    assert case.found("SELECT id, region FROM target") == {(1, "north"), (2, None), (3, None)}


@pytest.mark.slow
def test_an_adopted_target_keeps_names_order_comments_and_clustering(case: Case) -> None:
    case.do(
        "CREATE TABLE {src} (id INT, s STRUCT<a: INT, b: STRING>, tags MAP<STRING, INT>, amount DECIMAL(10, 2)) "
        "USING delta TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')",
        "INSERT INTO {src} VALUES (1, named_struct('a', 1, 'b', 'x'), map('k', 1, 'l', 2), 1.5), "
        "(2, NULL, NULL, NULL), (3, named_struct('a', NULL, 'b', NULL), map(), 0)",
        "CREATE TABLE {target} (AMOUNT DECIMAL(10, 2) COMMENT 'in euro', Tags MAP<STRING, INT>, "
        "S STRUCT<a: INT COMMENT 'it', b: STRING>, ID INT NOT NULL COMMENT 'the key') "
        "USING delta COMMENT 'made by hand' CLUSTER BY (ID)",
        "INSERT INTO {target} VALUES (9, map('l', 2, 'k', 1), named_struct('a', 1, 'b', 'x'), 1)",
    )
    before = _looks(case)
    case.define("SELECT id, s, tags, amount FROM src", adopt=True, mode="incremental")
    assert case.refresh().rows == Rows(inserted=2, updated=1)

    case.do("UPDATE {src} SET amount = 2.25, tags = map('l', 2, 'k', 1) WHERE id = 1")
    assert case.refresh().rows == Rows(updated=1, unchanged=2)
    assert _looks(case) == before


def _looks(case: Case) -> tuple[Any, ...]:
    """Columns with their comments, the comment of the table, and what it is clustered by."""
    [detail] = case.spark.sql(f"DESCRIBE DETAIL delta.`{case.place('target')}`").collect()
    return DeltaTable(case.place("target")).schema().to_json(), detail.description, detail.clusteringColumns
