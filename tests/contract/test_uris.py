"""Places given as URIs go through object stores; a `file:` URI stands in for a bucket here."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from airflow_refresh_provider.core.changes.pins import FilesPin
from airflow_refresh_provider.core.definition.columns import OP, VNODE
from airflow_refresh_provider.core.plan.plan import StagedTable
from airflow_refresh_provider.delta.control.root import make_mark
from airflow_refresh_provider.delta.control.store import DeltaControlStore
from airflow_refresh_provider.delta.storage.file_lists import list_files, stamp
from airflow_refresh_provider.delta.tables.parquet_footers import count_rows, not_parquet
from airflow_refresh_provider.delta.tables.staging_folders import StagingFolders
from airflow_refresh_provider.delta.tables.target_log import DeltaTableLog
from airflow_refresh_provider.inputs.kinds import kind_of
from tests.contract.samples import REGISTER, moment, progress_row, record
from tests.contract.tables import rows, write


@pytest.fixture
def bucket(tmp_path: Path) -> Path:
    (tmp_path / "bucket").mkdir()
    return tmp_path / "bucket"


def test_control_tables_can_be_kept_at_a_uri(bucket: Path) -> None:
    store = DeltaControlStore(bucket.as_uri())
    view = store.commit(store.read("orders"), record("orders", 1), REGISTER, moment(0))
    store.commit(view, record("orders", 2), REGISTER, moment(1))
    store.add_progress([progress_row("orders", "r1", 1, 1)])
    again = DeltaControlStore(bucket.as_uri())
    assert again.records() == [record("orders", 2)] and len(again.progress("orders", "r1")) == 1
    assert again.control_id == store.control_id


def test_the_log_of_a_table_at_a_uri_is_read(bucket: Path) -> None:
    write(bucket / "t", rows(1, 2), markers={"a": 1})
    write(bucket / "t", rows(3), markers={"a": 2})
    log, place = DeltaTableLog(), (bucket / "t").as_uri()
    facts = log.facts(place)
    assert facts is not None and (facts.location, facts.version, facts.rows) == (place, 1, 3)
    assert (log.newest(place), log.oldest(place), log.markers(place)) == (1, 0, {"a": 2})
    assert [c.net_rows for c in log.commits(place, after=-1)] == [2, 1]


def test_files_at_a_uri_are_listed_judged_and_counted(bucket: Path) -> None:
    for name in ("a.parquet", "deep/_day=1/b.parquet", "_hidden/c.parquet"):
        (bucket / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"id": [1, 2]}), bucket / "in" / name)
    place = (bucket / "in").as_uri()
    found = list_files(place)
    assert found is not None and [f.path for f in found] == [f"{place}/a.parquet", f"{place}/deep/_day=1/b.parquet"]
    assert not_parquet(found) is None and count_rows(found) == 4
    pin = FilesPin(format="parquet", location=place, files=found)
    assert [stamp(f.path) for f in found] == list(found) and kind_of("parquet").unreadable(pin) is None
    (bucket / "in" / "a.parquet").write_bytes(b"something else, and longer than before" * 50)
    assert "a.parquet" in (kind_of("parquet").unreadable(pin) or "")
    changed = stamp(found[0].path)
    assert changed is not None and not_parquet((found[1], changed)) == changed
    assert list_files(f"{place}/deep/_day=1/b.parquet") == (found[1],)


def test_empty_objects_that_stand_for_folders_are_neither_files_nor_foreign_files(bucket: Path) -> None:
    (bucket / "in").mkdir()
    pq.write_table(pa.table({"id": [1, 2]}), bucket / "in" / "a.parquet")
    (bucket / "in" / "day=1").touch()
    place = (bucket / "in").as_uri()
    assert [f.path for f in list_files(place) or ()] == [f"{place}/a.parquet"]
    (bucket / "target").mkdir()
    (bucket / "target" / "deep").touch()
    assert DeltaTableLog().identity((bucket / "target").as_uri()) is None
    assert make_mark((bucket / "target").as_uri()).control_id


def test_staging_at_a_uri_is_listed_and_dropped(bucket: Path) -> None:
    for name in ("r1/rows/x", "r2/rows/x"):
        (bucket / name).parent.mkdir(parents=True)
        (bucket / name).write_text("rows")
    (bucket / "r3" / "rows").mkdir(parents=True)
    (bucket / "r3" / "rows" / "_delta_log").touch()  # what is left of a folder
    folders = StagingFolders()
    assert folders.runs(bucket.as_uri()) == (f"{bucket.as_uri()}/r1", f"{bucket.as_uri()}/r2")
    folders.drop(f"{bucket.as_uri()}/r1")
    assert not (bucket / "r1" / "rows" / "x").exists() and (bucket / "r2" / "rows" / "x").exists()


def test_a_change_set_at_a_uri_is_read_from_its_files(bucket: Path) -> None:
    (bucket / "changes").mkdir()
    pq.write_table(pa.table({VNODE: [3, 1], OP: ["I", "D"], "k": [5, -7]}), bucket / "changes" / "part-0.parquet")
    (bucket / "changes" / "_SUCCESS").touch()
    folders, staged = StagingFolders(), StagedTable(location=f"{bucket.as_uri()}/changes", version=None)
    assert folders.has(staged)
    assert folders.changes(staged) == {(3, "I"): 1, (1, "D"): 1}
    assert folders.span(staged, "k") == (-7, 5)
    assert folders.files(staged) == (f"{staged.location}/part-0.parquet",)
