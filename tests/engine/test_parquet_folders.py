"""What counts as data in a folder is what Spark reads with it, whatever the folder looks like."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from airflow_refresh_provider.core.definition.inputs import Input
from airflow_refresh_provider.errors import Invalid
from airflow_refresh_provider.inputs.kinds import kind_of
from airflow_refresh_provider.spark.acts.content import load

_NAMES = ("day=1", "day=2", "DAY=3", "hour=1", "sub", "_hidden", ".hidden", "_day=4", "a b", "day=x%20y")
_SEEDS = range(40)


def _folder(root: Path, chance: random.Random) -> None:
    """A few files, each in a folder of up to three levels; some folders and files are links."""
    for number in range(chance.randrange(1, 6)):
        place = root
        for _ in range(chance.choice([0, 0, 1, 1, 1, 2, 3])):
            place /= chance.choice(_NAMES)
        place.mkdir(parents=True, exist_ok=True)
        file = place / f"f{number}.parquet"
        if chance.random() < 0.15:
            elsewhere = root.parent / f"elsewhere{number}"
            elsewhere.mkdir()
            _write(elsewhere / "linked.parquet", number)
            (place / f"linked{number}").symlink_to(elsewhere)
            file.symlink_to(elsewhere / "linked.parquet")
        else:
            _write(file, number)


def _write(file: Path, number: int) -> None:
    pq.write_table(pa.table({"id": pa.array([number], pa.int64())}), file)


@pytest.mark.slow
def test_a_pin_reads_what_spark_reads_with_the_folder(open_session: Callable[[], SparkSession], tmp_path: Path) -> None:
    spark = open_session()
    refused = 0
    for seed in _SEEDS:
        root = tmp_path / str(seed) / "in"
        root.mkdir(parents=True)
        _folder(root, random.Random(seed))
        wanted = _by_spark(spark, root)
        found = _pinned(spark, root)
        refused += found is None
        assert (found or []) == wanted, f"{seed}: {sorted(root.rglob('*'))}"
    assert 0 < refused < len(_SEEDS) * 3 / 4


def _by_spark(spark: SparkSession, root: Path) -> list[str]:
    """The rows of a folder; none where Spark refuses to read it."""
    try:
        return _rows(spark.read.parquet(str(root)))
    except PySparkException:
        return []


def _pinned(spark: SparkSession, root: Path) -> list[str] | None:
    """The rows of a pinned folder, None where it is refused."""
    try:
        pin = kind_of("parquet").pin("x", Input(path=str(root), format="parquet"))
    except Invalid:
        return None
    return _rows(load(spark, pin.read({})))


def _rows(found: DataFrame) -> list[str]:
    """The rows as text, with their columns."""
    return sorted(str(sorted(row.asDict().items())) for row in found.collect())
