"""What a commit is understood to have done, from the actions Spark and delta-rs write."""

from __future__ import annotations

import json
from typing import Any

from airflow_refresh_provider.core.log.commits import Commit
from airflow_refresh_provider.delta.tables.actions import commit_of, grouped

Action = dict[str, Any]


def _commit(actions: list[Action]) -> Commit:
    return commit_of(1, grouped(actions), None)


def _add(path: str, rows: int | None = 10, hidden: int = 0, vnode: str | None = None, **more: Any) -> Action:
    return {"add": {**_file(path, rows, hidden, vnode), "dataChange": True, **more}}


def _remove(path: str, rows: int | None = 10, hidden: int = 0, vnode: str | None = None, **more: Any) -> Action:
    return {"remove": {**_file(path, rows, hidden, vnode), "dataChange": True, **more}}


def _file(path: str, rows: int | None, hidden: int, vnode: str | None) -> Action:
    file: Action = {"path": path, "size": 100, "partitionValues": {} if vnode is None else {"_vnode": vnode}}
    if rows is not None:
        file["stats"] = json.dumps({"numRecords": rows})
    if hidden:
        file["deletionVector"] = {"storageType": "u", "cardinality": hidden}
    return file


def test_rows_that_a_deletion_vector_hides_do_not_count() -> None:
    marked = [_remove("a", 50, 3), _add("a", 50, 10), _add("new", 2)]
    assert _commit(marked).net_rows == -5


def test_a_file_that_only_got_a_deletion_vector_was_not_written() -> None:
    assert _commit([_remove("a"), _add("a", 10, 1), _add("b", 1)]).bytes_added == 100


def test_moved_files_count_for_nothing() -> None:
    commit = _commit([_add("b", None, dataChange=False), _remove("a", dataChange=False)])
    assert (commit.data_change, commit.net_rows, commit.bytes_added, commit.vnodes) == (False, 0, 0, ())


def test_without_statistics_the_rows_are_not_known() -> None:
    assert _commit([_add("a", 5), _remove("b", None)]).net_rows is None
    assert _commit([_add("a", None)]).net_rows is None


def test_vnodes_are_those_of_all_changed_files() -> None:
    assert _commit([_add("a", vnode="12"), _remove("b", vnode="3"), _add("c", vnode="12")]).vnodes == (3, 12)


def test_vnodes_are_unknown_unless_every_file_names_its_own() -> None:
    assert _commit([_add("a")]).vnodes is None
    assert _commit([_add("a", vnode="1"), _remove("b")]).vnodes is None
    assert _commit([_add("a", partitionValues={"_vnode": None})]).vnodes is None
    assert _commit([{"remove": {"path": "a", "dataChange": True}}]).vnodes is None


def test_a_marker_alone_changes_no_data() -> None:
    commit = _commit([{"commitInfo": {"operation": "WRITE"}}, {"txn": {"appId": "t/s0", "version": 1 << 33}}])
    assert (commit.version, commit.operation, commit.txns) == (1, "WRITE", {"t/s0": 1 << 33})
    assert not commit.data_change and not commit.reshaped and commit.vnodes == () and commit.net_rows == 0


def test_actions_of_no_concern_are_passed_over() -> None:
    feed: Action = {"cdc": {"path": "_change_data/c", "size": 7, "partitionValues": {}, "dataChange": False}}
    clustering: Action = {"domainMetadata": {"domain": "delta.clustering", "configuration": "{}", "removed": False}}
    commit = _commit([feed, clustering])
    assert (commit.operation, commit.data_change, commit.reshaped, commit.bytes_added) == ("UNKNOWN", False, False, 0)


def test_the_note_is_the_user_metadata() -> None:
    assert _commit([{"commitInfo": {"userMetadata": '{"kind": "seal"}'}}]).note == '{"kind": "seal"}'
    assert _commit([{"commitInfo": {"userMetadata": None}}]).note is None
