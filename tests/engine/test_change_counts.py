"""The counts of staged differences are the same, whether Spark or the client counts them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_refresh_provider.core.definition.columns import OP, ROW_HASH, VNODE, Column
from airflow_refresh_provider.core.log.marker import Marker
from airflow_refresh_provider.core.log.note import Note, NoteKind
from airflow_refresh_provider.core.plan.plan import ChangeCounts, Target
from airflow_refresh_provider.delta.tables.staging_folders import StagingFolders
from airflow_refresh_provider.ports.tasks import CompareTask, Source, Stamp
from airflow_refresh_provider.spark.acts import change_counts
from tests.engine.acts import AllAreLarge

VALUES = {
    "bigint": "id",
    "date": "date_add(DATE'0001-01-01', CAST(id AS INT))",
    "string": "concat('k\u00e9', id)",
    "decimal(38,9)": "CAST(id AS DECIMAL(38,9)) / 7",
    "boolean": "id % 2 = 0",
    "double": "IF(id % 2 = 0, 0.0D, -0.0D)",
    "string collate UTF8_LCASE": "IF(id % 2 = 0, 'A', 'a') COLLATE UTF8_LCASE",
    "timestamp": "timestamp_seconds(id)",
    "struct<v:bigint>": "named_struct('v', id)",
}
"""Keys by type. Two of the doubles and of the collated texts are equal, and look different."""


def task(folder: str, *types: str) -> CompareTask:
    """A comparison by keys of these types."""
    keys = tuple(Column(name=f"K {n}", type=kind) for n, kind in enumerate(types))
    note = Note(kind=NoteKind.CHUNK, definition="d", run="r", generation=1, chunk=1)
    return CompareTask(
        source=Source(query="", reads={}, keys=tuple(key.name.lower() for key in keys)),
        rows=None,
        target=Target(location="/none", table_id="t", columns=keys, vnodes=3, deletion_vectors=True),
        base=0,
        location=folder,
        stamp=Stamp(app_id="a", marker=Marker(1, 1), note=note),
        deletes=True,
        vnodes=None,
        one_chunk=None,
    )


@pytest.mark.parametrize("kind", VALUES)
def test_counts_are_the_same_by_client_and_by_spark(
    kind: str, open_session: Callable[[], SparkSession], tmp_path: Path
) -> None:
    spark, folder = open_session(), str(tmp_path / "changes")
    rows = spark.range(24, numPartitions=3).selectExpr(
        f"IF(id = 7, NULL, {VALUES[kind].replace('id', '(id DIV 2)')}) AS `K 0`",
        "CAST(id % 5 = 0 AS BIGINT) AS `K 1`",
        f"element_at(array('I', 'U', 'D'), CAST(id % 3 + 1 AS INT)) AS {OP}",
        f"0L AS {ROW_HASH}",
        f"CAST(pmod(hash(id DIV 2), 3) AS INT) AS {VNODE}",
    )
    rows.write.parquet(folder)
    found, compared = spark.read.parquet(folder), task(folder, kind, "bigint")
    client, by_spark = (change_counts.counted(compared, found, folder, r) for r in (StagingFolders(), AllAreLarge()))
    assert client == by_spark
    assert sum(client[0].values(), ChangeCounts()).total == 24
    assert client[1].null_keys == 1
    assert client[1].duplicate_keys > 0


def test_small_folders_are_counted_without_spark(open_session: Callable[[], SparkSession], tmp_path: Path) -> None:
    spark, folder = open_session(), str(tmp_path / "changes")
    row = ("id AS `K 0`", f"CAST(id % 2 AS INT) AS {VNODE}", f"'U' AS {OP}")
    spark.range(4).selectExpr(*row).write.parquet(folder)
    elsewhere = spark.range(0).selectExpr(*row)
    counts, report = change_counts.counted(task(folder, "bigint"), elsewhere, folder, StagingFolders())
    assert counts == {0: ChangeCounts(updated=2), 1: ChangeCounts(updated=2)}
    assert (report.null_keys, report.duplicate_keys) == (0, 0)
    no_folder, _ = change_counts.counted(task(folder, "bigint"), elsewhere, None, StagingFolders())
    assert no_folder == {}
