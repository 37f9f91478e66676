"""Only rows that change are written. The Delta log shows: rows in new data files, rows marked deleted in old ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_refresh_provider.compose import refreshes
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.log.note import read_note
from airflow_refresh_provider.core.plan.plan import ChangeCounts, Target
from airflow_refresh_provider.core.plan.small_tables import MOST_ROWS
from airflow_refresh_provider.core.plan.ways import Way
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import Rows
from airflow_refresh_provider.delta.tables.target_log import DeltaTableLog
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.ports.tasks import Source
from airflow_refresh_provider.spark.connect.endpoint import Endpoint
from examples.demo.evidence import Written, newest_version, written
from tests.engine.acts import Lake, source

HALF = 200


def _content(low: int, high: int, v: str = "id") -> Source:
    """Rows of two partitions, each of which is written as one file."""
    rows = f"SELECT /*+ REPARTITION(1) */ id AS k, {v} AS v, id DIV {HALF} AS p FROM range({low}, {high})"
    return source(rows, "k")


_FIRST = _content(0, 2 * HALF)
_MIXED = _content(3, 2 * HALF, "if(id IN (11, 50, 77), -1, id)")


def _loaded(lake: Lake, vectors: str) -> Target:
    """A target that holds the first rows."""
    target = lake.target(_FIRST, partition_by=("p",), properties={"delta.enableDeletionVectors": vectors})
    lake.load(target, _FIRST)
    return target


def test_rows_that_change_are_marked_and_written_and_no_others(lake: Lake) -> None:
    target = _loaded(lake, vectors="true")

    for way, content, counts in (
        (Way.KEYED_REPLACE, _MIXED, ChangeCounts(updated=3, deleted=3)),
        (Way.MERGE, _content(5, 2 * HALF, "if(id < 12, -2, id)"), ChangeCounts(updated=9, deleted=2)),
        (Way.REPLACE_ON, _content(5, 2 * HALF + 4, "if(id < 11, -2, id)"), ChangeCounts(inserted=4, updated=1)),
    ):
        before = newest_version(Path(target.location))
        assert lake.refresh(target, content, way) == counts
        assert written(Path(target.location), before) == Written(
            commits=1, into_new_files=counts.inserted + counts.updated, marked_gone=counts.updated + counts.deleted
        )


@pytest.mark.slow
def test_without_deletion_vectors_the_files_of_rows_that_change_are_rewritten_and_no_others(lake: Lake) -> None:
    target = _loaded(lake, vectors="false")
    before = newest_version(Path(target.location))

    assert lake.refresh(target, _MIXED, Way.MERGE) == ChangeCounts(updated=3, deleted=3)
    assert written(Path(target.location), before) == Written(commits=1, into_new_files=HALF - 3, marked_gone=HALF)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "deleted", "way"),
    [
        ("id", 4, Way.KEYED_REPLACE),
        # Keys of which no literals are made.
        ("CAST(id AS DECIMAL(20, 0))", 4, Way.MERGE),
        ("CAST(id AS DECIMAL(20, 0))", 0, Way.REPLACE_ON),
    ],
)
def test_a_refresh_of_few_rows_writes_few_rows(
    open_session: Callable[[], SparkSession], tmp_path: Path, spark_server: Endpoint, key: str, deleted: int, way: Way
) -> None:
    target, changed = tmp_path / "target", open_session()
    many = MOST_ROWS + 2_000
    rows = f"SELECT {key} AS k, id % 7 AS v FROM range({many})"
    changed.sql(f"CREATE TABLE delta.`{tmp_path}/input` USING delta AS {rows}").collect()
    runner = refreshes(Places(str(tmp_path / "control"), spark_server.url, str(tmp_path / "spark")))
    inputs = {"x": {"path": str(tmp_path / "input")}}
    runner.register(
        Definition.build(name="one", target=str(target), query="SELECT * FROM x", inputs=inputs, keys=["k"])
    )
    runner.run("one", Request())
    before = newest_version(target)
    then = f"SELECT {key} AS k, if(id % {many // 10} = 100, -1, id % 7) AS v FROM range({deleted}, {many + 6})"
    changed.sql(f"INSERT OVERWRITE delta.`{tmp_path}/input` {then}").collect()

    assert runner.run("one", Request()).rows == Rows(
        inserted=6, updated=10, deleted=deleted, unchanged=many - 10 - deleted
    )
    assert written(target, before) == Written(commits=1, into_new_files=16, marked_gone=10 + deleted)
    notes = [read_note(commit.note) for commit in DeltaTableLog().commits(str(target), before)]
    assert [note.way for note in notes if note] == [way]
