"""An input with a change data feed and a target that follows it, on real Spark and Delta."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from airflow_refresh_provider.compose import refreshes
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import RunResult
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.spark.connect.endpoint import Endpoint

NAME = "kept"


class Kept:
    """An input with a feed, and a target that was refreshed from it once."""

    def __init__(self, spark: SparkSession, folder: Path, endpoint: Endpoint) -> None:
        self.input = folder / "input"
        self.target = folder / "target"
        self.spark = spark
        self.control = folder / "control"
        self.refreshes: Refreshes = refreshes(Places(str(self.control), endpoint.url, str(folder / "spark")))
        self.do(
            "CREATE TABLE {t} USING delta TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true', "
            "'delta.checkpointInterval' = '2') AS SELECT id AS k, id AS v FROM range(20)"
        )
        self.register()
        self.run()

    def register(self, **changes: Any) -> None:
        """Store the definition."""
        given: dict[str, Any] = {
            "name": NAME,
            "target": str(self.target),
            "query": "SELECT k, v FROM x",
            "inputs": {"x": {"path": str(self.input)}},
            "keys": ["k"],
            "mode": "incremental",
        }
        self.refreshes.register(Definition.build(**(given | changes)))

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
