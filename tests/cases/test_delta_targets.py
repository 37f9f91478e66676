"""Targets of others: with features of Delta of their own, compacting themselves, or never taken over."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_refresh_provider.core.run.results import Rows
from tests.cases.case import Case

_FEATURES = (
    "'delta.enableRowTracking' = 'true', 'delta.checkpointPolicy' = 'v2', 'delta.enableInCommitTimestamps' = 'true', "
    "'delta.checkpointInterval' = '3', 'delta.enableChangeDataFeed' = 'true'"
)


@pytest.mark.slow
def test_row_tracking_v2_checkpoints_and_commit_timestamps_are_no_obstacle(case: Case) -> None:
    for table in ("src", "target"):
        case.do(
            f"CREATE TABLE {{{table}}} (id INT, amount INT) USING delta CLUSTER BY (id) TBLPROPERTIES ({_FEATURES})",
            *(f"INSERT INTO {{{table}}} VALUES ({n}, {n * 10})" for n in range(4)),
        )
    case.do("UPDATE {src} SET amount = 5 WHERE id = 3")
    case.define("SELECT id, amount FROM src", adopt=True, mode="incremental")
    assert case.refresh().rows == Rows(updated=1, unchanged=3)

    case.do(
        *(f"INSERT INTO {{src}} VALUES ({n}, {n * 10})" for n in (4, 5)),
        "OPTIMIZE {src} FULL",
        "DELETE FROM {src} WHERE id = 1",
    )
    assert case.refresh().rows == Rows(inserted=2, deleted=1, unchanged=3)

    case.do("OPTIMIZE {target} FULL", "UPDATE {src} SET amount = 6 WHERE id = 3")
    result = case.refresh()
    assert (result.mode, result.rows) == ("incremental", Rows(updated=1, unchanged=4))


@pytest.mark.slow
def test_a_target_that_compacts_itself_after_each_commit_is_not_written_by_others(case: Case) -> None:
    case.rows("src", id=range(200), v=range(200))
    compacting = (
        "TBLPROPERTIES ('delta.autoOptimize.autoCompact' = 'true', 'delta.autoOptimize.optimizeWrite' = 'true')"
    )
    case.do(f"CREATE TABLE {{target}} (id INT, v INT, tags ARRAY<INT>) USING delta {compacting}")
    _in_many_files(case)
    case.define("SELECT id, v, array(id) AS tags FROM src", adopt=True, mode="incremental")
    assert case.refresh().rows == Rows(inserted=15, unchanged=185)
    history = case.spark.sql(f"DESCRIBE HISTORY delta.`{case.place('target')}`").collect()
    assert "OPTIMIZE" in {commit.operation for commit in history}

    case.update("src", "id % 50 = 0", v="-1")
    result = case.refresh()
    assert (result.mode, result.rows) == ("incremental", Rows(updated=4, unchanged=196))
    case.nothing_to_do()


def _in_many_files(case: Case) -> None:
    """Fill the target with more small files than a compaction waits for.

    A column is nested, so that Spark applies changes: a client that rewrites a small table compacts nothing.
    """
    for name in ("autoCompact", "optimizeWrite"):
        case.spark.conf.set(f"spark.databricks.delta.{name}.enabled", "false")
    columns = "CAST(id AS INT) AS id, CAST(id AS INT) AS v, array(CAST(id AS INT)) AS tags"
    rows = case.spark.sql(f"SELECT {columns} FROM range(5, 190)").repartition(70)
    rows.write.format("delta").mode("append").save(case.place("target"))
    for name in ("autoCompact", "optimizeWrite"):
        case.spark.conf.unset(f"spark.databricks.delta.{name}.enabled")


def test_a_table_that_was_never_taken_over_is_not_deleted_with_the_definition(case: Case) -> None:
    case.rows("src", id=[1], v=[10])
    case.rows("target", id=[5], v=[50])
    case.define("SELECT id, v FROM src")
    case.refused("foreign_target", "adopt: true")

    dropped = case.refreshes.drop(case.name, delete_target=True)
    assert (dropped.target_deleted, dropped.kept_reason) == (
        False,
        "it was not created by a refresh of this control root",
    )
    assert case.found("SELECT * FROM target") == {(5, 50)}


def test_after_its_target_was_deleted_a_definition_is_registered_again(case: Case) -> None:
    """Commits without rows, such as those that seal a load in chunks, leave files that the log does not name."""
    case.rows("src", id=list(range(40)), v=[0] * 40)
    case.define("SELECT id, v FROM src", visibility="live", chunking={"one_commit_up_to": 1, "chunk_rows": 10})
    case.refresh()
    case.update("src", "true", v="1")
    case.refresh()

    case.refreshes.drop(case.name, delete_target=True)

    left = [path.name for path in Path(case.place("target")).rglob("*")]
    assert left == []
    assert case.refresh().rows.inserted == 40
