"""What is broadcast of touched values has a limit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from airflow_refresh_provider.core.changes.reads import Read
from airflow_refresh_provider.core.definition.columns import Column
from airflow_refresh_provider.core.maintain.plan import Maintenance, Use
from airflow_refresh_provider.core.maintain.spans import Spans
from airflow_refresh_provider.core.plan.plan import Target
from airflow_refresh_provider.ports.tasks import Source, Touched
from airflow_refresh_provider.spark.acts import touched_rows, touched_spans

TARGET = Target(
    location="/t", table_id="t", columns=(Column(name="k", type="bigint"),), vnodes=1, deletion_vectors=False
)


def _shown(rows: DataFrame, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    rows.explain(extended=True)
    return capsys.readouterr().out


def _touched(spark: SparkSession, folder: Path, rows: int = 3, **more: Any) -> Touched:
    """The values 0, 1 and 2 of one anchor; `rows` is how many there are said to be."""
    location, maintenance = str(folder / "touched"), Maintenance(anchors=("k",), uses=(), routes=())
    spark.range(3).selectExpr("id AS k0").write.parquet(location)
    return Touched(location=location, maintenance=maintenance, rows=rows, types=("bigint",), **more)


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
    touched = _touched(spark, tmp_path, rows=rows, bytes=bytes)
    for selected in (
        touched_rows.among(spark, spark.range(9).selectExpr("id AS k"), touched),
        _result(spark, tmp_path, touched, "SELECT k FROM x"),
    ):
        assert ("strategy=broadcast" in _shown(selected, capsys)) is broadcast


def _result(
    spark: SparkSession, folder: Path, touched: Touched, query: str, ways: tuple[tuple[str], ...] = (("k",),)
) -> DataFrame:
    """A query over `x` and `y`, which each have the numbers below 9, of which those of `x` lead to touched values."""
    for name in ("x", "y"):
        spark.range(9).selectExpr("id AS k").write.mode("ignore").parquet(str(folder / name))
    reads = {n: Read(location=str(folder / n), format="parquet", file_format="parquet") for n in ("x", "y")}
    places = [(name, query.index(f"FROM {name}") + 5) for name in reads if f"FROM {name}" in query]
    uses = tuple(
        Use(input=name, start=at, end=at + 1, aliased=False, restrictions=ways if name == "x" else None)
        for name, at in places
    )
    touched = touched.model_copy(update={"maintenance": Maintenance(anchors=("k",), uses=uses, routes=())})
    return touched_rows.result(spark, Source(query=query, reads=reads, keys=("k",)), TARGET, touched)


@pytest.mark.parametrize("condition", ["k IN (SELECT k FROM y)", "EXISTS (SELECT 1 FROM y WHERE y.k = x.k)"])
def test_touched_values_restrict_an_input_before_conditions_of_the_query_do(
    condition: str, open_session: Callable[[], SparkSession], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spark = open_session()
    found = _result(spark, tmp_path, _touched(spark, tmp_path), f"SELECT k FROM x WHERE {condition}")
    optimized = _shown(found, capsys).partition("Optimized Logical Plan")[2].partition("Physical Plan")[0]
    joins = [line for line in optimized.splitlines() if "LeftSemi" in line]
    assert ["airflow_refresh_k0" in join for join in joins[:2]] == [False, True], optimized  # outermost first
    assert {row.k for row in found.collect()} == {0, 1, 2}


def test_a_row_is_read_once_where_it_leads_to_touched_values_in_several_ways(
    open_session: Callable[[], SparkSession], tmp_path: Path
) -> None:
    spark = open_session()
    found = _result(spark, tmp_path, _touched(spark, tmp_path), "SELECT k FROM x", (("k",), ("k - 5",), ("k - 1",)))
    assert sorted(row.k for row in found.collect()) == [0, 1, 2, 3, 5, 6, 7]


def test_rows_that_lead_to_null_are_touched_where_null_is(
    open_session: Callable[[], SparkSession], tmp_path: Path
) -> None:
    spark = open_session()
    touched = _touched(spark, tmp_path, nulls=frozenset({0}))
    spark.sql("SELECT CAST(NULL AS BIGINT) AS k0").write.mode("append").parquet(touched.location)
    found = _result(spark, tmp_path, touched, "SELECT k FROM x", (("nullif(k, 8)",),))
    assert sorted(row.k for row in found.collect()) == [0, 1, 2, 8]


@pytest.mark.parametrize("skips", [True, False])
def test_spans_are_conditions_only_where_they_leave_out_enough(
    open_session: Callable[[], SparkSession], tmp_path: Path, capsys: pytest.CaptureFixture[str], skips: bool
) -> None:
    spark = open_session()
    spans = {0: Spans(type="bigint", spans=((0, 2), (7007, 7009)))}
    touched = _touched(spark, tmp_path, spans=spans, skips_target=skips)
    spark.range(9000).selectExpr("id AS k").write.format("delta").save(str(tmp_path / "t"))
    target = TARGET.model_copy(update={"location": str(tmp_path / "t")})
    rows = touched_rows.of_target(spark, target, 0, touched)
    assert ("7007" in _shown(rows, capsys)) is skips
    assert {row.k for row in rows.collect()} == {0, 1, 2}


def test_the_size_of_values_counts_their_text(open_session: Callable[[], SparkSession]) -> None:
    anchors = (Column(name="a", type="bigint"), Column(name="b", type="string"))
    values = open_session().createDataFrame([(1, "x" * 100), (2, None), (None, "é")], "k0 BIGINT, k1 STRING")
    (seen,) = values.agg(*touched_spans.measures(anchors)).collect()
    assert seen.asDict()["bytes"] == 3 * (8 + 16) + 100 + 2
