"""The whole control root is deleted: the next refresh goes on with the next window all the same. Logs are real."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_refresh_provider.compose import refreshes
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import Outcome
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.spark.connect.endpoint import Endpoint
from tests.engine.kept import NAME, Kept


@pytest.fixture
def kept(open_session: Callable[[], SparkSession], tmp_path: Path, spark_server: Endpoint) -> Kept:
    kept = Kept(open_session(), tmp_path, spark_server)
    kept.change()
    kept.run()
    shutil.rmtree(kept.control)
    kept.refreshes = refreshes(Places(str(kept.control), spark_server.url, str(tmp_path / "spark")))
    kept.register(adopt=True)
    return kept


@pytest.mark.slow
def test_a_cursor_restored_from_the_seal_makes_the_next_refresh_incremental(kept: Kept) -> None:
    found = kept.refreshes.rebuild_progress(NAME)
    assert (found.restored, found.rows_done) == (True, 7)
    assert kept.refreshes.run(NAME, Request()).outcome is Outcome.NOTHING_TO_DO
    kept.change()
    result = kept.run()
    assert (result.mode, result.windows, result.rows.updated) == ("incremental", {"x": (1, 2)}, 7)


@pytest.mark.slow
def test_the_write_of_another_client_still_has_everything_compared(kept: Kept) -> None:
    kept.spark.sql(f"UPDATE delta.`{kept.target}` SET v = -1 WHERE k = 4").collect()
    assert kept.refreshes.rebuild_progress(NAME).restored
    assert kept.run().mode == "full"
