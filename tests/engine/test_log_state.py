"""The state of a table's log is computed ahead of a commit, without doing anything to the session or the table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_refresh_provider.delta.tables.staging_folders import StagingFolders
from airflow_refresh_provider.spark.acts import kernel, log_state, sql
from airflow_refresh_provider.spark.engine import SparkEngineSession

pytestmark = pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")


def test_the_session_is_used_meanwhile(open_session: Callable[[], SparkSession], tmp_path: Path) -> None:
    spark, location = open_session(), str(tmp_path / "it's a `target`")
    spark.range(3).write.format("delta").save(location)
    computing = log_state.compute(spark, location)
    assert spark.sql("SELECT 1 AS one").collect()[0].one == 1
    computing.join(60)
    assert not computing.is_alive()
    assert spark.sql(f"SELECT count(*) AS rows FROM {sql.table(location)}").collect()[0].rows == 3
    assert len(list(Path(location, "_delta_log").glob("*.json"))) == 1


def test_an_error_is_left_to_the_commit(open_session: Callable[[], SparkSession], tmp_path: Path) -> None:
    spark = open_session()
    for setting, value in kernel.settings_for("").items():
        spark.conf.set(setting, value)  # refuses the statement that computes it
    for location in (str(tmp_path / "nowhere"), "none:/of these"):
        computing = log_state.compute(spark, location)
        computing.join(60)
        assert not computing.is_alive()
    assert spark.sql("SELECT 1 AS one").collect()[0].one == 1


def test_a_session_that_was_closed_computes_nothing(open_session: Callable[[], SparkSession], tmp_path: Path) -> None:
    spark, location = open_session(), str(tmp_path / "target")
    spark.range(3).write.format("delta").save(location)
    session = SparkEngineSession(spark, StagingFolders())
    session.expect_commit(location)
    session.close()
    computing = log_state.compute(spark, location)
    computing.join(60)
    assert not computing.is_alive()


def test_a_session_is_not_closed_under_what_is_computed(
    open_session: Callable[[], SparkSession], tmp_path: Path
) -> None:
    for wait in (0.0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2):
        spark, location = open_session(), str(tmp_path / f"target {wait}")
        spark.range(3).write.format("delta").save(location)
        session = SparkEngineSession(spark, StagingFolders())
        computing = log_state.compute(spark, location)
        computing.join(wait)
        session.close()
        assert not computing.is_alive(), "a call that begins on a channel that is closed ends the process"
