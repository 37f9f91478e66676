"""Tables that others have made: one that is only compared is not touched, an adopted one keeps what is its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_refresh_provider.compose import refreshes
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import DifferenceSample, Outcome, Rows
from airflow_refresh_provider.delta.tables.target_log import DeltaTableLog
from airflow_refresh_provider.errors import Refused
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.ports.table_log import TableFacts
from airflow_refresh_provider.spark.connect.endpoint import Endpoint
from examples.demo.evidence import Written, newest_version, written

NAME = "found"
OWN = {"delta.enableDeletionVectors": "false", "delta.checkpointInterval": "7", "own.note": "mine"}
ROWS = 30


class Found:
    """A table that another writer made of an input, and the definition that is to keep it fresh."""

    def __init__(self, spark: SparkSession, folder: Path, endpoint: Endpoint) -> None:
        self.spark = spark
        self.input, self.target = folder / "input", folder / "target"
        self.refreshes = refreshes(Places(str(folder / "control"), endpoint.url, str(folder / "spark")))
        own = ", ".join(f"'{name}' = '{value}'" for name, value in OWN.items())
        self.do(
            f"CREATE TABLE {{input}} USING delta AS SELECT id AS k, id AS v, id % 3 AS p FROM range({ROWS})",
            f"CREATE TABLE {{target}} USING delta PARTITIONED BY (p) TBLPROPERTIES ({own}) AS "
            "SELECT /*+ REPARTITION(1) */ * FROM {input}",
        )
        self.register()

    def do(self, *statements: str) -> None:
        for statement in statements:
            tables = {"input": f"delta.`{self.input}`", "target": f"delta.`{self.target}`"}
            self.spark.sql(statement.format(**tables)).collect()

    def register(self, **more: Any) -> None:
        given = {"name": NAME, "target": str(self.target), "query": "SELECT p, v, k FROM x", "keys": ["k"]}
        self.refreshes.register(Definition.build(**given, inputs={"x": {"path": str(self.input)}}, **more))

    def facts(self) -> TableFacts:
        facts = DeltaTableLog().facts(str(self.target))
        assert facts is not None
        return facts

    def files(self) -> dict[Path, tuple[int, int]]:
        """Everything that the table is, with size and time."""
        return {file: (file.stat().st_size, file.stat().st_mtime_ns) for file in self.target.rglob("*")}


@pytest.fixture
def found(open_session: Callable[[], SparkSession], tmp_path: Path, spark_server: Endpoint) -> Found:
    return Found(open_session(), tmp_path, spark_server)


def test_a_table_that_is_only_compared_is_left_as_it_is(found: Found) -> None:
    found.do("UPDATE {input} SET v = -1 WHERE k = 7")
    before = found.files()

    with pytest.raises(Refused) as refused:
        found.refreshes.run(NAME, Request())
    result = found.refreshes.compare_only(NAME)

    assert refused.value.code == "foreign_target"
    assert (result.equal, result.rows) == (False, Rows(updated=1, unchanged=ROWS - 1))
    assert result.samples == (
        DifferenceSample(op="U", desired={"k": 7, "v": -1, "p": 1}, found={"k": 7, "v": 7, "p": 1}),
    )
    assert found.files() == before


def test_an_adopted_table_that_is_right_gets_no_data_and_keeps_its_partitions_and_properties(found: Found) -> None:
    before = found.facts()
    found.register(adopt=True)

    assert found.refreshes.run(NAME, Request()).rows == Rows(unchanged=ROWS)
    assert written(found.target, before.version) == Written(commits=0, into_new_files=0, marked_gone=0)
    assert _own(found.facts()) == _own(before)
    assert OWN.items() <= before.properties.items()

    found.do("UPDATE {input} SET p = 9 WHERE k = 4")
    adopted = newest_version(found.target)
    assert found.refreshes.run(NAME, Request()).rows == Rows(updated=1, unchanged=ROWS - 1)
    # Without deletion vectors the file of the deleted row is rewritten.
    assert written(found.target, adopted) == Written(commits=1, into_new_files=ROWS // 3, marked_gone=ROWS // 3)
    assert _own(found.facts()) == _own(before)
    assert found.refreshes.compare_only(NAME).equal
    assert found.refreshes.run(NAME, Request()).outcome is Outcome.NOTHING_TO_DO


def _own(facts: TableFacts) -> tuple[object, ...]:
    """What is not the tool's business."""
    own = {name: value for name, value in facts.properties.items() if not name.startswith("airflow_refresh.")}
    return facts.table_id, facts.partitioned_by, facts.clustered, own
