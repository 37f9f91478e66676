"""The files that were added and removed over some commits, whatever else the commits did with them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from airflow_refresh_provider.delta.tables.actions import grouped
from airflow_refresh_provider.delta.tables.changed_files import ChangedFiles, FileSum

BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)

Action = dict[str, Any]


def _file(kind: str, path: str, vector: str | None = None, *, moved: bool = False, **more: Any) -> Action:
    fields = {"path": path, "size": 10, "partitionValues": {}, "dataChange": not moved}
    if vector:
        fields["deletionVector"] = {"storageType": "u", "pathOrInlineDv": vector, "offset": 1}
    return {kind: fields | more}


def _add(path: str, vector: str | None = None, *, moved: bool = False) -> Action:
    return _file("add", path, vector, moved=moved)


def _remove(path: str, vector: str | None = None, *, moved: bool = False, **more: Any) -> Action:
    return _file("remove", path, vector, moved=moved, **more)


def _total(*commits: list[Action]) -> ChangedFiles:
    files = FileSum()
    for hour, actions in enumerate(commits):
        files.add(grouped(actions), BEGIN + hour * HOUR)
    return files.total()


def _names(total: ChangedFiles) -> tuple[list[str], list[str]]:
    removed, added = ([f["path"] + (f.get("deletionVector") or {}).get("pathOrInlineDv", "") for f in some]
                  for some in (total.removed, total.added))  # fmt: skip
    return sorted(removed), sorted(added)


def test_files_that_stay_in_the_table_are_never_removed_from_storage() -> None:
    total = _total([_add("a")], [_add("b")])
    assert (_names(total), total.bytes, total.readable, total.removed_at) == (([], ["a", "b"]), 20, True, None)


def test_a_file_that_added_and_removed_has_left_nothing() -> None:
    assert _names(_total([_add("a")], [_remove("a"), _add("b")])) == ([], ["b"])
    assert _names(_total([_remove("a")], [_add("a")])) == ([], [])


def test_a_file_with_another_deletion_vector_is_another_file() -> None:
    total = _total([_remove("a"), _add("a", "1")], [_remove("a", "1"), _add("a", "2")])
    assert (_names(total), total.removed_at) == ((["a"], ["a2"]), BEGIN)


def test_files_that_were_moved_together_count_as_what_they_were_before() -> None:
    """Their rows are read where they were, so they must still be there."""
    total = _total([_add("a")], [_remove("a", moved=True), _remove("old", moved=True), _add("b", moved=True)], [])
    assert (_names(total), total.removed_at) == (([], ["a"]), BEGIN + HOUR)
    assert _names(_total([_add("a")], [_remove("a", moved=True), _add("b", moved=True)], [_remove("b")])) == (
        ["b"],
        ["a"],
    )


def test_a_removal_that_says_too_little_cannot_be_read() -> None:
    assert not _total([_remove("a", partitionValues=None)]).readable
    assert not _total([_remove("a", size=None)]).readable
    assert _total([_remove("a", partitionValues=None)], [_add("a")]).readable


def test_a_file_that_is_added_twice_makes_the_window_unusable() -> None:
    assert not _total([_add("a")], [_add("a")]).readable
