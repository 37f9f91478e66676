"""Targets that rest for longer than their table keeps removed files: their last refresh can still be read."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_refresh_provider.compose import refreshes
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.publication import published
from airflow_refresh_provider.spark.connect.endpoint import Endpoint

_ENFORCED = "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration"
_RETENTION = 2
_REFUSED = "DELTA_UNSUPPORTED_TIME_TRAVEL_BEYOND_DELETED_FILE_RETENTION_DURATION"


@pytest.mark.slow
def test_the_last_refresh_of_a_target_that_rested_is_read_until_others_write(
    open_session: Callable[[], SparkSession], tmp_path: Path, spark_server: Endpoint
) -> None:
    spark, target = open_session(), f"delta.`{tmp_path}/target`"
    spark.conf.unset(_ENFORCED)  # as in a reader's session
    spark.sql(f"CREATE TABLE delta.`{tmp_path}/input` USING delta AS SELECT id AS k, 0 AS v FROM range(40)").collect()
    runner = refreshes(Places(str(tmp_path / "control"), spark_server.url, str(tmp_path / "spark")))
    runner.register(
        Definition.build(
            name="rested",
            target=str(tmp_path / "target"),
            query="SELECT * FROM x",
            inputs={"x": {"path": str(tmp_path / "input")}},
            keys=["k"],
            view="rested_view",
            chunking={"one_commit_up_to": 10, "chunk_rows": 10},
        )
    )
    runner.run("rested", Request())
    kept = f"'delta.deletedFileRetentionDuration' = 'interval {_RETENTION} seconds'"
    spark.sql(f"ALTER TABLE {target} SET TBLPROPERTIES ({kept})").collect()
    spark.sql(f"UPDATE delta.`{tmp_path}/input` SET v = 1").collect()
    result = runner.run("rested", Request())
    assert result.published_version != result.target_version  # there is a seal of its own
    time.sleep(_RETENTION + 1)

    def rows(sql: str) -> int:
        return spark.sql(sql).where("v = 1").count()

    found = published("rested", str(tmp_path / "control"))
    with pytest.raises(Exception, match=_REFUSED):
        rows(f"SELECT * FROM {target} VERSION AS OF {result.published_version}")
    assert (rows(found.sql), rows("SELECT * FROM rested_view")) == (40, 40)
    assert (found.version, found.readable_until) == (result.target_version, None)

    spark.sql(f"OPTIMIZE {target}").collect()
    found = published("rested", str(tmp_path / "control"))
    assert (rows(found.sql), found.readable_until) == (40, None)
    assert found.version == (result.target_version or 0) + 1

    time.sleep(_RETENTION + 1)
    with pytest.raises(Exception, match=_REFUSED):
        rows("SELECT * FROM rested_view")
    assert runner.due("rested").reason.endswith("its view names; a newer one has the same rows")
    made_again = runner.run("rested", Request())
    assert (made_again.outcome, made_again.mode_code) == ("succeeded", "nothing_changed")
    assert rows("SELECT * FROM rested_view") == 40
    assert runner.run("rested", Request()).outcome == "nothing_to_do"

    found = published("rested", str(tmp_path / "control"))
    time.sleep(_RETENTION + 1)
    spark.sql(f"INSERT INTO {target} VALUES (41, 1)").collect()
    after = published("rested", str(tmp_path / "control"))
    assert after.version == found.version
    assert after.readable_until is not None
    assert after.readable_until.timestamp() < time.time()
    with pytest.raises(Exception, match=_REFUSED):
        rows(after.sql)

    runner.run("rested", Request(force=True))
    again = published("rested", str(tmp_path / "control"))
    assert (rows(again.sql), rows("SELECT * FROM rested_view")) == (40, 40)
    spark.sql("DROP VIEW rested_view").collect()
