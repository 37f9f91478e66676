"""Touched values are the same, whether the client finds them in the files with the changed rows or Spark does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_refresh_provider.core.changes.pins import DeltaPin
from airflow_refresh_provider.core.changes.sources import ChangeSource
from airflow_refresh_provider.core.definition.columns import Column
from airflow_refresh_provider.core.definition.inputs import Input
from airflow_refresh_provider.core.maintain.plan import Hop, Maintenance, Route
from airflow_refresh_provider.core.plan.plan import Target
from airflow_refresh_provider.delta.tables.staging_folders import StagingFolders
from airflow_refresh_provider.inputs.kinds import kind_of
from airflow_refresh_provider.ports.tasks import Source, Touched, TouchTask
from airflow_refresh_provider.spark.acts import few_touched, touched_values
from tests.engine.acts import AllAreLarge

DELTA: Any = kind_of("delta")
TYPES = {"Id": "bigint", "s": "string", "b": "boolean", "n": "int", "d": "date", "f": "double"}
CHANGES = (
    "INSERT INTO {t} VALUES (100, 'é''\\n', true, 1, DATE'1500-01-01', double('NaN'))",
    "INSERT INTO {t} VALUES (NULL, NULL, NULL, NULL, NULL, NULL)",
    "UPDATE {t} SET f = 0.0 WHERE id IN (1, 2)",
    "UPDATE {t} SET f = -0.0 WHERE id = 2",
    "UPDATE {t} SET n = n + 1 WHERE id IN (3, 4)",
    "UPDATE {t} SET n = n - 1 WHERE id = 4",
    "UPDATE {t} SET id = 200, s = 'moved' WHERE id = 5",
    "DELETE FROM {t} WHERE id = 6",
)


def _touch(
    spark: SparkSession,
    folder: Path,
    anchors: tuple[str, ...],
    used: tuple[str, ...],
    files: StagingFolders | AllAreLarge,
    route: Route | None = None,
    types: dict[str, str] | None = None,
    by_client: bool = False,
) -> tuple[Touched, list[str]]:
    newest: DeltaPin = DELTA.pin("t", Input(path=str(folder / "t")))
    applied, place = newest.model_copy(update={"version": 0}), str(folder / type(files).__name__)
    route = route or Route(input="t", values=tuple(f"`h0`.`{name}`" for name in anchors))
    columns = tuple(Column(name=name, type=kind) for name, kind in {**TYPES, **(types or {})}.items())
    task = TouchTask(
        source=Source(query="SELECT * FROM t", reads={"t": newest.read({})}, keys=anchors),
        changes={"t": DELTA.changes(applied, newest, ChangeSource.FEED, f"{place}-t", {})},
        maintenance=Maintenance(anchors=anchors, routes=(route,), uses=(), used={"t": used}),
        target=Target(location="/t", table_id="t", columns=columns, vnodes=1, deletion_vectors=False),
        location=place,
    )
    found = few_touched.values(task, [route], files)
    assert (found is not None) is by_client
    touched = touched_values.touch(spark, task, files)
    rows = touched_values.staged(spark, touched).collect()
    return touched.model_copy(update={"location": ""}), sorted(map(repr, map(tuple, rows)))


@pytest.fixture
def changed(open_session: Callable[[], SparkSession], tmp_path: Path) -> SparkSession:
    """A table that has been changed since its version 0; its files have no deletion vectors."""
    spark, table = open_session(), f"delta.`{tmp_path / 't'}`"
    properties = "'delta.enableChangeDataFeed' = 'true', 'delta.enableDeletionVectors' = 'false'"
    spark.sql(
        f"CREATE TABLE {table} USING delta TBLPROPERTIES ({properties}) AS SELECT id AS Id, CAST(id AS STRING) AS s, "
        "id % 2 = 0 AS b, CAST(id AS INT) AS n, DATE'2020-01-01' AS d, CAST(id AS DOUBLE) AS f FROM range(20)"
    ).collect()
    for change in CHANGES:
        spark.sql(change.format(t=table)).collect()
    return spark


def test_the_client_finds_what_spark_finds(changed: SparkSession, tmp_path: Path) -> None:
    for anchors in (("Id",), ("s",), ("b",), ("n",), ("Id", "s")):
        for used in (tuple(TYPES), ("id", "s", "b", "n")):
            (by_client, rows), by_spark = (
                _touch(changed, tmp_path, anchors, used, files, by_client=isinstance(files, StagingFolders))
                for files in (StagingFolders(), AllAreLarge())
            )
            assert (by_client, rows) == by_spark, anchors
            assert by_client.rows == len(rows) > 0


def test_rows_that_came_and_went_touch_nothing(changed: SparkSession, tmp_path: Path) -> None:
    _, rows = _touch(changed, tmp_path, ("Id",), ("Id", "n"), StagingFolders(), by_client=True)
    assert set(rows) == {"(100,)", "(None,)", "(3,)", "(5,)", "(200,)", "(6,)"}, "4 is what it was"
    _, rows = _touch(changed, tmp_path, ("Id",), ("Id", "f"), StagingFolders(), by_client=True)
    assert set(rows) == {"(100,)", "(None,)", "(1,)", "(2,)", "(5,)", "(200,)", "(6,)"}, "-0.0 is not 0.0"


OTHERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("d", {}),
    ("f", {}),
    ("s", {"types": {"s": "string collate UTF8_LCASE"}}),
    ("n", {"types": {"n": "tinyint"}, "route": Route(input="t", values=("`h0`.`Id`",))}),
    ("s", {"route": Route(input="t", values=("`h0`.`n`",))}),
    ("n", {"route": Route(input="t", values=("`h0`.`n` + 1",))}),
    ("n", {"route": Route(input="t", values=("`h1`.`n`",), hops=(Hop(input="t", alias="h1", on="h0.id = h1.id"),))}),
)
"""Days, floating point, a collation, numbers that are too large, another type, an expression, a join."""


def test_other_values_are_left_to_spark(changed: SparkSession, tmp_path: Path) -> None:
    for anchor, more in OTHERS:
        by_client, by_spark = (
            _touch(changed, tmp_path, (anchor,), tuple(TYPES), files, **more)
            for files in (StagingFolders(), AllAreLarge())
        )
        assert by_client == by_spark, anchor
