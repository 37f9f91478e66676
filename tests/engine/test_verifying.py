"""Two change sets for one version of a target: what both have found, on Spark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_refresh_provider.core.definition.columns import Column
from airflow_refresh_provider.core.plan.plan import StagedTable, Target
from airflow_refresh_provider.ports.tasks import Disagreement, VerifyTask
from airflow_refresh_provider.spark.acts.verifying import disagreement

COLUMNS = tuple(Column(name=name, type=kind) for name, kind in {"k": "int", "n": "bigint", "s": "double"}.items())
TARGET = Target(location="/t", table_id="t", columns=COLUMNS, vnodes=1, deletion_vectors=True)
CHANGES = "(1, 5L, 0.5D, 'U'), (2, 6L, 1.5D, 'I'), (3, NULL, NULL, 'D')"


def staged(spark: SparkSession, folder: Path, name: str, rows: str) -> StagedTable:
    location = str(folder / name)
    values = spark.sql(f"SELECT *, 0 AS _vnode, 0L AS _row_hash FROM VALUES {rows} AS t(k, n, s, _op)")
    if name == "one":
        values.write.format("delta").save(location)
        return StagedTable(location=location, version=0)
    values.write.parquet(location)
    return StagedTable(location=location, version=None)


@pytest.mark.parametrize(
    ("other", "inexact", "keys"),
    [
        (CHANGES, (), ()),
        (CHANGES.replace("0.5D", "0.6D"), ("s",), ()),
        (CHANGES.replace("0.5D", "0.6D"), (), ("k=1",)),
        (CHANGES.replace("NULL, NULL, 'D'", "0L, 2.5D, 'D'"), (), ()),
        (CHANGES.replace("6L", "7L"), ("s",), ("k=2",)),
        (CHANGES.replace("'I'", "'U'"), (), ("k=2",)),
        ("(1, 5L, 0.5D, 'U')", (), ("k=2", "k=3")),
        (None, (), ("k=1", "k=2", "k=3")),
    ],
)
def test_changes_of_one_side_alone_are_found(
    open_session: Callable[[], SparkSession],
    tmp_path: Path,
    other: str | None,
    inexact: tuple[str, ...],
    keys: tuple[str, ...],
) -> None:
    spark = open_session()
    one = staged(spark, tmp_path, "one", CHANGES)
    two = None if other is None else staged(spark, tmp_path, "two", other)
    for sides in ((one, two), (two, one)):
        task = VerifyTask(one=sides[0], other=sides[1], target=TARGET, keys=("k",), inexact=inexact)
        found = disagreement(spark, task)
        assert Disagreement(keys=found.keys, examples=tuple(sorted(found.examples))) == Disagreement(
            keys=len(keys), examples=keys
        )
