"""Rows that commits have marked as deleted are read by their positions, and are those of Delta's own feed (ADR 78)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from airflow_refresh_provider.core.changes.pins import DeltaPin
from airflow_refresh_provider.core.changes.sources import ChangedRows, ChangeSource, FeedRows, SeparateRows
from airflow_refresh_provider.core.definition.inputs import Input
from airflow_refresh_provider.delta.tables.marked_rows import MOST_COMMITS
from airflow_refresh_provider.delta.tables.staging_folders import StagingFolders
from airflow_refresh_provider.inputs.kinds import kind_of
from airflow_refresh_provider.spark.acts import changed_rows

DELTA: Any = kind_of("delta")
FED = "'delta.enableChangeDataFeed' = 'true', 'delta.enableDeletionVectors' = 'true'"


class Marked:
    """A table of two files with a feed and deletion vectors; windows begin after its version 1."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.path = spark, str(folder / "t")
        self.table = f"delta.`{self.path}`"
        rows = "SELECT id, id % 7 AS g, concat('text ', id) AS s FROM range({}, {}, 1, 1)"
        self.run(f"CREATE TABLE {{t}} USING delta TBLPROPERTIES ({FED}) AS {rows.format(0, 5000)}")
        self.run(f"INSERT INTO {{t}} {rows.format(5000, 9000)}")
        self.applied = self.pin

    @property
    def pin(self) -> DeltaPin:
        found: DeltaPin = DELTA.pin("t", Input(path=self.path))
        return found

    def run(self, *statements: str) -> None:
        for statement in statements:
            self.spark.sql(statement.format(t=self.table)).collect()

    def changes(self) -> FeedRows | SeparateRows:
        found: FeedRows | SeparateRows = DELTA.changes(self.applied, self.pin, ChangeSource.FEED, "/nowhere", {})
        return found

    def net(self, changes: ChangedRows) -> Counter[tuple[Any, ...]]:
        """Rows with how often they came, less how often they went."""
        removed, added = changed_rows.sides(self.spark, self.pin.read({}), changes)
        counted = _rows(added)
        counted.subtract(_rows(removed))
        return Counter({row: count for row, count in counted.items() if count})

    def check(self, changes: ChangedRows) -> None:
        """The changes are those that Delta's reader finds, by both ways of reading them."""
        by_delta = self.net(self.pin.feed_since(self.applied, {}))
        assert self.net(changes) == by_delta and by_delta
        signed = changed_rows.signed(self.spark, self.pin.read({}), changes)
        sums: Counter[tuple[Any, ...]] = Counter()
        for *row, sign in map(tuple, signed.select("id", "g", "s", signed.columns[-1]).collect()):
            sums[tuple(row)] += sign
        assert {row: count for row, count in sums.items() if count} == by_delta


def _rows(found: DataFrame) -> Counter[tuple[Any, ...]]:
    return Counter(map(tuple, found.select("id", "g", "s").collect()))


@pytest.fixture
def marked(open_session: Callable[[], SparkSession], tmp_path: Path) -> Marked:
    return Marked(open_session(), tmp_path)


def test_rows_that_deletes_have_marked_are_read_by_their_positions(marked: Marked) -> None:
    marked.run("DELETE FROM {t} WHERE id IN (3, 4999, 5000)", "DELETE FROM {t} WHERE id % 1000 = 5")
    changes = marked.changes()
    assert isinstance(changes, SeparateRows) and changes.removed is not None and changes.added is None
    assert sum(map(len, changes.removed.chosen)) == 12
    marked.check(changes)


def test_a_file_that_went_whole_is_read_with_those_of_which_rows_went(marked: Marked) -> None:
    marked.run("DELETE FROM {t} WHERE id = 1", "DELETE FROM {t} WHERE id >= 5000")
    changes = marked.changes()
    assert isinstance(changes, SeparateRows) and changes.removed is not None
    assert sorted(map(len, changes.removed.chosen)) == [1, 4000]
    marked.check(changes)


def test_a_file_that_was_restored_in_between_has_gone_once(marked: Marked) -> None:
    gone = "DELETE FROM {t} WHERE id >= 5000"
    marked.run(gone, "RESTORE TABLE {t} TO VERSION AS OF 1", gone, "DELETE FROM {t} WHERE id = 1")
    marked.check(marked.changes())
    marked.run("RESTORE TABLE {t} TO VERSION AS OF 1", gone)
    marked.check(marked.changes())


def test_commits_with_and_without_files_of_the_feed_are_read_together(marked: Marked) -> None:
    marked.run(
        "DELETE FROM {t} WHERE id IN (1, 2)",
        "UPDATE {t} SET g = 100 WHERE id IN (2, 3, 6000)",
        "DELETE FROM {t} WHERE id IN (3, 4, 6001)",
        "INSERT INTO {t} VALUES (1, 1, 'text 1')",
        "INSERT INTO {t} SELECT id, 1, 'new' FROM range(10000, 10003, 1, 1)",
        "DELETE FROM {t} WHERE id = 10001",
    )
    changes = marked.changes()
    assert isinstance(changes, FeedRows) and changes.feed.format == "parquet" and changes.removed is not None
    marked.check(changes)


def test_the_client_reads_the_rows_that_spark_reads(marked: Marked) -> None:
    marked.run("DELETE FROM {t} WHERE id IN (0, 17, 4999, 8999)")
    removed = marked.changes().removed
    assert removed is not None
    found = StagingFolders().of_files(removed.paths, ("S", "id"), 10, removed.chosen)
    assert found is not None
    assert sorted(found) == [("text 0", 0), ("text 17", 17), ("text 4999", 4999), ("text 8999", 8999)]
    assert StagingFolders().of_files(removed.paths, ("s",), 3, removed.chosen) is None


def test_vectors_that_are_gone_are_left_to_delta(marked: Marked) -> None:
    marked.run("DELETE FROM {t} WHERE id = 1", "DELETE FROM {t} WHERE id = 2")
    first = min(Path(marked.path).glob("deletion_vector*.bin"), key=lambda path: path.stat().st_mtime)
    first.unlink()
    changes = marked.changes()
    assert isinstance(changes, FeedRows) and changes.feed.format == "delta"


@pytest.mark.parametrize(
    "statements",
    [
        ("DELETE FROM {t} WHERE id = 1", "RESTORE TABLE {t} TO VERSION AS OF 1"),
        tuple(f"DELETE FROM {{t}} WHERE id = {n}" for n in range(MOST_COMMITS + 1)),
    ],
    ids=["rows came back", "many commits"],
)
def test_other_windows_are_left_to_delta(marked: Marked, statements: tuple[str, ...]) -> None:
    marked.run(*statements)
    changes = marked.changes()
    assert isinstance(changes, FeedRows) and changes.feed.format == "delta"
