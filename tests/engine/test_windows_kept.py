"""Inputs that no longer hold the window: everything is compared instead, and the result says why. Logs are real."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_refresh_provider.compose import refreshes
from airflow_refresh_provider.core.definition import Definition
from airflow_refresh_provider.core.request import Request
from airflow_refresh_provider.core.results import RunResult
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.spark.endpoint import Endpoint

NAME = "kept"


class Kept:
    """An input with a feed, and a target that was refreshed from it once."""

    def __init__(self, spark: SparkSession, folder: Path, endpoint: Endpoint) -> None:
        self.input = folder / "input"
        self.target = folder / "target"
        self.spark = spark
        self.refreshes: Refreshes = refreshes(Places(str(folder / "control"), endpoint.url, str(folder / "spark")))
        self.do(
            "CREATE TABLE {t} USING delta TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true', "
            "'delta.checkpointInterval' = '2') AS SELECT id AS k, id AS v FROM range(20)"
        )
        self.refreshes.register(
            Definition.build(
                name=NAME,
                target=str(self.target),
                query="SELECT k, v FROM x",
                inputs={"x": {"path": str(self.input)}},
                keys=["k"],
                mode="incremental",
            )
        )
        self.run()

    def do(self, *statements: str) -> None:
        for statement in statements:
            self.spark.sql(statement.replace("{t}", f"delta.`{self.input}`")).collect()

    def change(self, times: int = 1) -> None:
        for _ in range(times):
            self.do("UPDATE {t} SET v = v + 1 WHERE k % 3 = 0")

    def run(self) -> RunResult:
        """A refresh, after which target and input are equal."""
        result = self.refreshes.run(NAME, Request())
        rows = [
            {(r.k, r.v) for r in self.spark.read.format("delta").load(str(place)).collect()}
            for place in (self.input, self.target)
        ]
        assert rows[0] == rows[1]
        return result

    def forget(self, version: int) -> None:
        """Clean a commit out of the log, as Delta does once it is old enough."""
        for kind in ("json", "crc"):
            (self.input / "_delta_log" / f"{version:020}.{kind}").unlink(missing_ok=True)
            (self.input / "_delta_log" / f".{version:020}.{kind}.crc").unlink(missing_ok=True)

    def age(self, version: int, days: int) -> None:
        """Let a commit be older than it is."""
        file = self.input / "_delta_log" / f"{version:020}.json"
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        then = datetime.now(UTC) - timedelta(days=days)
        for line in lines:
            if "commitInfo" in line:
                line["commitInfo"]["timestamp"] = int(then.timestamp() * 1000)
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.fixture
def kept(open_session: Callable[[], SparkSession], tmp_path: Path, spark_server: Endpoint) -> Kept:
    return Kept(open_session(), tmp_path, spark_server)


def told(result: RunResult) -> tuple[str, str]:
    return result.mode, result.mode_reason or ""


@pytest.mark.slow
def test_what_is_kept_is_read(kept: Kept) -> None:
    kept.change(times=3)
    assert told(kept.run()) == ("incremental", "changes of x in versions 1 to 3")


def test_a_log_that_was_cleaned_has_everything_compared_although_delta_would_read_on(kept: Kept) -> None:
    kept.change(times=4)
    kept.forget(0)
    kept.forget(1)
    silent = kept.spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", 1)
    try:
        found: Any = {r._commit_version for r in silent.option("endingVersion", 4).load(str(kept.input)).collect()}
    except Exception as error:  # noqa: BLE001 - whichever way it is, a refresh must not rely on it
        found = error
    assert found != {1, 2, 3, 4}
    mode, reason = told(kept.run())
    assert (mode, "no longer holds every version after 0" in reason) == ("full", True)
    kept.change()
    assert told(kept.run())[0] == "incremental"


def test_change_files_that_are_gone_have_everything_compared_in_the_same_run(kept: Kept) -> None:
    kept.change()
    for file in (kept.input / "_change_data").glob("*"):
        file.unlink()
    mode, reason = told(kept.run())
    assert (mode, reason.startswith("the changes of the inputs cannot be read: ")) == ("full", True)
    kept.change()
    assert told(kept.run())[0] == "incremental"


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
    kept.do("ALTER TABLE {t} SET TBLPROPERTIES ('delta.deletedFileRetentionDuration' = 'interval 7 days')")
    mode, reason = told(kept.run())
    assert mode == "full"
    assert "has kept its changes" in reason or "cannot be read" in reason


@pytest.mark.slow
def test_a_promise_that_has_run_out_has_everything_compared(kept: Kept) -> None:
    kept.change(times=2)
    kept.age(1, days=8)
    [fresh] = kept.refreshes.freshness(NAME, why=True)
    kept_until = fresh.inputs[0].kept_until
    assert kept_until is not None and kept_until < datetime.now(UTC)
    mode, reason = told(kept.run())
    assert (mode, "has kept its changes since version 0 only until" in reason) == ("full", True)


@pytest.mark.slow
def test_a_table_made_anew_in_its_place_has_everything_compared(kept: Kept) -> None:
    kept.change()
    kept.do("CREATE OR REPLACE TABLE {t} USING delta AS SELECT id AS k, -id AS v FROM range(18)")
    mode, reason = told(kept.run())
    assert mode == "full"
    assert "is another table" in reason or "columns" in reason or "no change data feed" in reason
