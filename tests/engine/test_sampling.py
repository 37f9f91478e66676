"""Samples of a target, drawn and computed again on Spark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_refresh_provider.core.definition.columns import Column
from airflow_refresh_provider.core.maintain.plan import Maintenance
from airflow_refresh_provider.core.plan.plan import Target
from airflow_refresh_provider.delta.tables.staging_folders import StagingFolders
from airflow_refresh_provider.ports.tasks import SampleTask, Touched
from airflow_refresh_provider.spark.acts import touched_values
from airflow_refresh_provider.spark.connect.endpoint import Endpoint
from tests.engine.test_keyed_refreshes import Shop

MAINTENANCE = Maintenance(anchors=("g", "s"), routes=(), uses=())
COLUMNS = (Column(name="k", type="bigint"), Column(name="g", type="bigint"), Column(name="s", type="string"))


class Drawing:
    """A target of a thousand groups of two rows, one of them NULL."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark, self._folder = spark, folder
        location = str(folder / "target")
        rows = "id AS k, nullif(id DIV 2, 0) AS g, concat('s', id DIV 2) AS s"
        spark.sql(f"CREATE TABLE delta.`{location}` USING delta AS SELECT {rows} FROM range(2000)").collect()
        self.target = Target(location=location, table_id="t", columns=COLUMNS, vnodes=1, deletion_vectors=True)

    def draw(self, name: str, share: float, seed: str, without: Touched | None = None) -> Touched:
        return touched_values.sample(
            self._spark,
            SampleTask(
                target=self.target,
                base=0,
                maintenance=MAINTENANCE,
                location=str(self._folder / name),
                share=share,
                seed=seed,
                without=without,
            ),
            StagingFolders(),
        )

    def values(self, drawn: Touched) -> set[tuple[object, ...]]:
        return {tuple(row) for row in touched_values.staged(self._spark, drawn).collect()}


def test_a_share_of_the_values_is_drawn_by_run(open_session: Callable[[], SparkSession], tmp_path: Path) -> None:
    drawing = Drawing(open_session(), tmp_path)
    one, again, other = (drawing.draw(name, 0.1, run) for name, run in (("a", "1"), ("b", "1"), ("c", "2")))
    assert 60 < one.rows < 140
    assert drawing.values(one) == drawing.values(again) != drawing.values(other)


def test_touched_values_are_left_out_and_null_is_a_value(
    open_session: Callable[[], SparkSession], tmp_path: Path
) -> None:
    drawing = Drawing(open_session(), tmp_path)
    every = drawing.draw("every", 1.0, "1")
    assert (every.rows, every.nulls) == (1000, frozenset({0}))
    part = drawing.draw("part", 0.3, "1")
    rest = drawing.draw("rest", 1.0, "1", without=part)
    assert drawing.values(rest) == drawing.values(every) - drawing.values(part)
    assert drawing.draw("none", 1.0, "1", without=every).rows == 0


@pytest.mark.parametrize("view", ["aggregate", "by month"])
def test_what_is_drawn_is_what_the_query_gives(
    open_session: Callable[[], SparkSession], tmp_path: Path, spark_server: Endpoint, view: str
) -> None:
    shop = Shop(open_session(), tmp_path, spark_server, "feed")
    shop.register(view, verify_share=1.0)
    shop.run(view)
    shop.do("UPDATE {orders} SET total = total + 1 WHERE id = 31")
    assert shop.run(view).mode_code == "verification"
    shop.do("UPDATE {orders} SET total = total + 1 WHERE id = 30")
    result = shop.run(view)
    assert (result.mode, result.notices) == ("incremental", ())
    assert result.sampled is not None and result.sampled > 5
