"""What is held in memory of touched values, and of the rows that they stand for, has a limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from airflow_refresh_provider.compose import refreshes
from airflow_refresh_provider.core.definition.columns import Column
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.maintain.plan import Maintenance
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import Rows
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.ports.engine import Touched
from airflow_refresh_provider.spark.acts import touched_rows, touched_spans
from airflow_refresh_provider.spark.connect.endpoint import Endpoint
from airflow_refresh_provider.spark.connect.sessions import close, connect
from airflow_refresh_provider.spark.server.embedded import EmbeddedServer, ServerOptions

_DAYS, _ROWS = 300, 5_000_000


def _shown(rows: DataFrame, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    rows.explain(extended=True)
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("rows", "bytes", "broadcast"),
    [
        (3, 24, True),
        (1_000_000, 64 << 20, True),
        (1_000_001, 24, False),
        (3, (64 << 20) + 1, False),
    ],
)
def test_many_or_wide_values_are_not_broadcast(
    open_session: Callable[[], SparkSession],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    rows: int,
    bytes: int,
    broadcast: bool,
) -> None:
    spark = open_session()
    spark.range(3).selectExpr("id AS k0").write.parquet(str(tmp_path / "touched"))
    touched = Touched(
        location=str(tmp_path / "touched"),
        maintenance=Maintenance(anchors=("k",), uses=(), routes=()),
        rows=rows,
        bytes=bytes,
        types=("bigint",),
    )
    plan = _shown(touched_rows.among(spark, spark.range(9).selectExpr("id AS k"), touched), capsys)
    assert ("strategy=broadcast" in plan) is broadcast


def test_the_size_of_values_counts_their_text(open_session: Callable[[], SparkSession]) -> None:
    anchors = (Column(name="a", type="bigint"), Column(name="b", type="string"))
    values = open_session().createDataFrame([(1, "x" * 100), (2, None), (None, "é")], "k0 BIGINT, k1 STRING")
    (seen,) = values.agg(*touched_spans.measures(anchors)).collect()
    assert seen.asDict()["bytes"] == 3 * (8 + 16) + 100 + 2


@pytest.fixture
def small_server(tmp_path: Path) -> Iterator[Endpoint]:
    """A server whose driver, which computes as well, has a small heap."""
    server = EmbeddedServer(tmp_path / "home", ServerOptions(memory="1g"))
    try:
        yield server.ensure()
    finally:
        server.stop()


@pytest.mark.slow
def test_a_few_values_that_stand_for_millions_of_rows_are_compared_in_a_small_heap(
    tmp_path: Path, small_server: Endpoint
) -> None:
    """All 300 partitions of the input have changed: hash tables of all keys of the target take more than the heap."""
    spark = connect(small_server, "00000000-0000-4000-8000-000000000001")
    events = tmp_path / "events"
    day = f"date_add(DATE'2024-01-01', CAST(id % {_DAYS} AS INT))"
    spark.range(_ROWS).selectExpr("id", "sha2(CAST(id AS STRING), 256) AS code", f"{day} AS day").repartition(
        8, "day"
    ).write.format("delta").partitionBy("day").save(str(events))
    shown = refreshes(Places(str(tmp_path / "control"), small_server.url, str(tmp_path / "spark")))
    shown.register(
        Definition.build(
            name="places",
            target=str(tmp_path / "places"),
            query="SELECT code, id, day, row_number() OVER (PARTITION BY day ORDER BY id, code) AS place FROM events",
            inputs={"events": {"path": str(events)}},
            keys=["code"],
            mode="incremental",
        )
    )
    shown.run("places", Request())
    codes = []
    for number in range(2):
        added = f"SELECT {_ROWS} + id AS id, concat('{number}-', id) AS code, {day} AS day FROM range({_DAYS})"
        spark.sql(f"INSERT INTO delta.`{events}` {added}").collect()
        result = shown.run("places", Request())
        codes.append(result.mode_code)
        assert (result.touched, result.rows) == (_DAYS, Rows(inserted=_DAYS, unchanged=_ROWS + number * _DAYS))
    close(spark)
    assert codes == ["verification", "changes"]
