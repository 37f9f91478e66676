"""Inputs that no longer hold the window: everything is compared instead, and the result says why. Logs are real."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from airflow_refresh_provider.core.run.results import RunResult
from airflow_refresh_provider.spark.connect.endpoint import Endpoint
from tests.engine.kept import NAME, Kept


@pytest.fixture
def kept(open_session: Callable[[], SparkSession], tmp_path: Path, spark_server: Endpoint) -> Kept:
    return Kept(open_session(), tmp_path, spark_server)


def mode_of(result: RunResult) -> tuple[str | None, str]:
    return result.mode, result.mode_reason or ""


@pytest.mark.slow
def test_retained_changes_are_read(kept: Kept) -> None:
    kept.change(times=3)
    assert mode_of(kept.run()) == ("incremental", "changes of x in versions 1 to 3")


@pytest.mark.slow
def test_changes_are_read_through_with_queries_and_functions_of_one_row(kept: Kept) -> None:
    parsed = "CAST(get_json_object(to_json(struct(v)), '$.v') AS BIGINT)"
    kept.register(query=f"WITH raw AS (SELECT * FROM x) SELECT r.k, r.v FROM (SELECT k, {parsed} AS v FROM raw) AS r")
    assert mode_of(kept.run()) == ("full", "the definition has changed since the last refresh")
    kept.change(times=2)
    kept.do("DELETE FROM {t} WHERE k = 4", "INSERT INTO {t} VALUES (50, 1)")
    assert mode_of(kept.run()) == ("incremental", "changes of x in versions 1 to 4")


@pytest.mark.slow
def test_a_log_that_was_cleaned_up_has_everything_compared_although_delta_would_read_it(kept: Kept) -> None:
    kept.change(times=4)
    kept.forget(0)
    kept.forget(1)
    silent = kept.spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", 1)
    try:
        found: Any = {r._commit_version for r in silent.option("endingVersion", 4).load(str(kept.input)).collect()}
    except Exception as error:  # noqa: BLE001 - whichever way it is, a refresh must not rely on it
        found = error
    assert found != {1, 2, 3, 4}
    mode, reason = mode_of(kept.run())
    assert (mode, "no longer has every version after 0" in reason) == ("full", True)
    kept.change()
    assert mode_of(kept.run())[0] == "incremental"


@pytest.mark.slow
def test_where_the_feed_was_deleted_the_changed_files_are_read(kept: Kept) -> None:
    kept.change()
    for file in (kept.input / "_change_data").glob("*"):
        file.unlink()
    [fresh] = kept.refreshes.freshness(NAME, why=True)
    assert not fresh.inputs[0].expired  # the changed files are still there
    assert mode_of(kept.run())[0] == "incremental"


def falls_back_once(kept: Kept) -> None:
    """Changes that cannot be read have everything compared; the next run is incremental again."""
    mode, reason = mode_of(kept.run())
    assert (mode, reason.startswith("the changes of the inputs cannot be read: ")) == ("full", True)
    kept.change()
    assert mode_of(kept.run())[0] == "incremental"


@pytest.mark.slow
def test_files_that_were_vacuumed_have_everything_compared(kept: Kept) -> None:
    kept.do(
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.deletedFileRetentionDuration' = 'interval 0 hours', "
        "'delta.logRetentionDuration' = 'interval 30 days')"
    )
    kept.change(times=2)
    kept.spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    kept.do("VACUUM {t} RETAIN 0 HOURS")
    assert not list((kept.input / "_change_data").glob("*.parquet"))
    [fresh] = kept.refreshes.freshness(NAME, why=True)
    assert fresh.inputs[0].expired
    kept.do("ALTER TABLE {t} SET TBLPROPERTIES ('delta.deletedFileRetentionDuration' = 'interval 7 days')")
    mode, reason = mode_of(kept.run())
    assert mode == "full"
    assert "has kept its changes" in reason


@pytest.mark.slow
def test_changes_beyond_their_retention_have_everything_compared(kept: Kept) -> None:
    kept.change(times=2)
    kept.age(1, days=8)
    [fresh] = kept.refreshes.freshness(NAME, why=True)
    kept_until = fresh.inputs[0].kept_until
    assert kept_until is not None and kept_until < datetime.now(UTC)
    mode, reason = mode_of(kept.run())
    assert (mode, "has kept its changes since version 0 only until" in reason) == ("full", True)


@pytest.mark.slow
def test_a_table_that_was_replaced_has_everything_compared(kept: Kept) -> None:
    kept.change()
    kept.do("CREATE OR REPLACE TABLE {t} USING delta AS SELECT id AS k, -id AS v FROM range(18)")
    mode, reason = mode_of(kept.run())
    assert mode == "full"
    assert "is another table" in reason or "columns" in reason or "no change data feed" in reason


def without_feed(kept: Kept) -> None:
    kept.do("ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'false')")
    kept.change()


@pytest.mark.slow
def test_added_and_removed_files_are_read_without_a_feed(kept: Kept) -> None:
    without_feed(kept)
    kept.do("OPTIMIZE {t}", "DELETE FROM {t} WHERE k = 4", "INSERT INTO {t} VALUES (50, 1)")
    assert mode_of(kept.run()) == ("incremental", "changes of x in versions 1 to 5")


def removed_files(kept: Kept) -> list[Path]:
    """Files that the table does not name any more, oldest first."""
    live = {Path(uri).name for uri in DeltaTable(kept.input).file_uris()}
    return sorted((f for f in kept.input.glob("*.parquet") if f.name not in live), key=lambda f: f.stat().st_mtime)


def test_deleted_files_have_everything_compared(kept: Kept) -> None:
    without_feed(kept)
    for file in removed_files(kept):
        file.unlink()
    mode, reason = mode_of(kept.run())
    assert (mode, "has kept its changes since version 0 only until" in reason) == ("full", True)
    kept.change()
    assert mode_of(kept.run())[0] == "incremental"


@pytest.mark.slow
def test_a_deleted_file_that_is_only_found_in_the_run_has_everything_compared_in_it(kept: Kept) -> None:
    """A VACUUM deletes the oldest files first, and only the first one is looked for before a run."""
    without_feed(kept)
    kept.do("INSERT INTO {t} VALUES (50, 1)")
    kept.run()
    kept.do("UPDATE {t} SET v = v + 1 WHERE k = 1", "UPDATE {t} SET v = v + 1 WHERE k = 50")
    *_, newest = removed_files(kept)
    newest.unlink()
    falls_back_once(kept)


@pytest.mark.slow
def test_files_that_were_only_added_are_read_at_any_age(kept: Kept) -> None:
    kept.do("INSERT INTO {t} VALUES (50, 1)", "INSERT INTO {t} VALUES (51, 1)")
    kept.age(1, days=8)
    assert mode_of(kept.run())[0] == "incremental"
