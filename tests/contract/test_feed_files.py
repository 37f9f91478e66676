"""The files that have the changed rows of a window: of the change data feed, and whole data files."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from deltalake import DeltaTable, write_deltalake

from airflow_refresh_provider.core.changes.pins import DeltaPin
from airflow_refresh_provider.core.changes.reads import Read
from airflow_refresh_provider.core.changes.sources import ChangeSource, FeedRows, SeparateRows
from airflow_refresh_provider.delta.tables.feed_files import MOST_FILES, feed_files
from airflow_refresh_provider.inputs.delta_table import DeltaTables
from airflow_refresh_provider.ports.table_log import LogGap

FED = {"delta.enableChangeDataFeed": "true"}


class Fed:
    """A table with a feed. Changes are those since it was made."""

    def __init__(self, folder: Path, *, partitioned: bool = False) -> None:
        self.location = str(folder / "a fed table")
        self.partition_by = ["p"] if partitioned else None
        self.append(0, 10)
        self.applied = self.pin

    @property
    def table(self) -> DeltaTable:
        return DeltaTable(self.location)

    @property
    def pin(self) -> DeltaPin:
        return DeltaPin(location=self.location, table_id=str(self.table.metadata().id), version=self.table.version())

    def append(self, first: int, last: int, mode: str = "append") -> None:
        rows = pa.table({"k": list(range(first, last)), "p": ["a"] * (last - first)})
        write_deltalake(self.location, rows, mode=mode, configuration=FED, partition_by=self.partition_by)  # type: ignore[call-overload]

    def update(self, k: int) -> None:
        self.table.update({"p": "'b'"}, predicate=f"k = {k}")

    def changes(self) -> FeedRows | SeparateRows | None:
        return feed_files(self.applied, self.pin)


@pytest.fixture
def fed(tmp_path: Path) -> Fed:
    return Fed(tmp_path)


def _folders(read: Read | None) -> list[str]:
    """Whether the files of a read are data files or files of the feed."""
    return ["feed" if "/_change_data/" in path else "data" for path in read.paths] if read else []


def _all(changes: FeedRows | SeparateRows | None) -> tuple[list[str], list[str], list[str]]:
    assert changes is not None
    feed = changes.feed if isinstance(changes, FeedRows) else None
    return _folders(feed), _folders(changes.removed), _folders(changes.added)


def test_an_update_is_in_the_files_of_the_feed_alone(fed: Fed) -> None:
    fed.update(3)
    changes = fed.changes()
    assert _all(changes) == (["feed"], [], [])
    assert isinstance(changes, FeedRows)
    assert changes.feed.schema_text == "`k` bigint, `p` string, _change_type STRING"
    assert Path(changes.feed.paths[0]).is_file()


def test_appended_files_have_no_feed_and_are_read_themselves(fed: Fed) -> None:
    fed.append(10, 12)
    assert _all(fed.changes()) == ([], [], ["data"])


def test_an_overwritten_table_has_lost_its_files_and_got_others(fed: Fed) -> None:
    fed.append(5, 8, mode="overwrite")
    assert _all(fed.changes()) == ([], ["data"], ["data"])


def test_a_file_that_went_was_restored_and_went_again_has_gone_once(fed: Fed) -> None:
    (first,) = fed.table.file_uris()
    fed.append(5, 8, mode="overwrite")
    fed.table.restore(0)
    fed.append(6, 9, mode="overwrite")
    changes = fed.changes()
    assert changes is not None and changes.removed is not None and changes.added is not None
    assert [Path(path).name for path in changes.removed.paths] == [Path(first).name]
    assert [Path(path).name for path in changes.added.paths] == [Path(uri).name for uri in fed.table.file_uris()]


def test_commits_of_all_kinds_are_read_together(fed: Fed) -> None:
    fed.append(10, 12)
    fed.update(3)
    fed.update(11)
    fed.append(12, 14)
    assert _all(fed.changes()) == (["feed", "feed"], [], ["data", "data"])


def test_compacted_files_count_for_nothing(fed: Fed) -> None:
    fed.append(10, 12)
    fed.update(3)
    before = fed.changes()
    fed.table.optimize.compact()
    assert fed.changes() == before


def test_many_files_are_left_to_delta(fed: Fed) -> None:
    for n in range(MOST_FILES):
        fed.append(10 + n, 11 + n)
    assert len(_all(fed.changes())[2]) == MOST_FILES
    fed.append(50, 51)
    assert fed.changes() is None


def test_a_table_with_partitions_is_left_to_delta(tmp_path: Path) -> None:
    fed = Fed(tmp_path, partitioned=True)
    fed.update(3)
    assert fed.changes() is None


def test_files_with_deletion_vectors_are_left_to_delta(fed: Fed) -> None:
    fed.append(10, 12)
    log = Path(fed.location) / "_delta_log" / f"{1:020d}.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        if "add" in action:
            action["add"]["deletionVector"] = {
                "storageType": "i",
                "pathOrInlineDv": "x",
                "sizeInBytes": 1,
                "cardinality": 1,
            }
    pin = fed.pin
    log.write_text("\n".join(map(json.dumps, actions)))
    assert feed_files(fed.applied, pin) is None


def test_reader_options_and_a_log_with_a_gap_ask_for_the_reader_of_delta(fed: Fed) -> None:
    fed.update(3)
    tables, folder = DeltaTables(), "/nowhere"

    def formats(**options: str) -> str:
        changes = tables.changes(fed.applied, fed.pin, ChangeSource.FEED, folder, options)
        assert isinstance(changes, FeedRows)
        return changes.feed.format

    assert (formats(), formats(a="b")) == ("parquet", "delta")
    fed.table.create_checkpoint()
    (Path(fed.location) / "_delta_log" / f"{1:020d}.json").unlink()
    with pytest.raises(LogGap):
        fed.changes()
    assert formats() == "delta"
