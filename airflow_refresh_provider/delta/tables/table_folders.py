"""Deleting a table by its log: files that it names are removed, and those of Spark that hold no row.

Whatever else lies in the folder stays. A commit of Spark without rows leaves a file that the log does not name, one
that removes all rows of a file leaves a deletion vector, and on a local disk each file has a checksum beside it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import obstore
from deltalake import DeltaTable
from obstore.store import ObjectStore

from airflow_refresh_provider.core.changes.pins import FileStamp
from airflow_refresh_provider.delta.storage.object_stores import is_local, open_store, storage
from airflow_refresh_provider.delta.tables.file_tables import BESIDE_TABLE, vector_file
from airflow_refresh_provider.delta.tables.parquet_footers import metadata_of

_LOG = "_delta_log"
_COMMIT = re.compile(rf"{_LOG}/\d{{20}}\.json")
_OF_SPARK = re.compile(r"part-\d+-.+\.parquet")
_VECTOR = re.compile(r"deletion_vector_[0-9a-f-]{36}\.bin")
_CHECKSUM = re.compile(r"\.(.+)\.crc")
_MOST_EMPTY = 64 << 10
"""A file without rows has nothing but its columns."""
_FILE_ACTIONS = ("add", "remove", "cdc")


class StoredTableFolders:
    """Folders on a local disk or in an object store."""

    def resolved(self, location: str) -> str:
        """The location with the links of a local disk followed; any other as it is."""
        return os.path.realpath(location) if is_local(location) else location

    def delete_table(self, location: str) -> tuple[str, ...]:
        """Delete a table by its log, and return the files that are left in its folder."""
        with storage("deleting the table", location):
            store = open_store(location)
            if store is None:
                return ()
            sizes = dict(_listed(store))
            found = frozenset(sizes)
            log = frozenset(path for path in found if path.startswith(f"{_LOG}/"))
            named = _named(store, location, log) & found
            own = found - log - named - frozenset(_of_other_tables(found))
            named |= {path for path in own if _is_empty(f"{location}/{path}", sizes[path])}
            named |= {path for path in own if _checked_by(path) in named}
            if named:
                obstore.delete(store, sorted(named))
            # The log goes last, and newest first: what is left of it by an interrupted deletion is a table, whose
            # deletion can be repeated.
            for path in sorted(log, reverse=True):
                obstore.delete(store, path)
            if is_local(location):
                _remove_empty_folders(Path(location))
            return tuple(sorted(found - named - log))


def _named(store: ObjectStore, location: str, log: Iterable[str]) -> frozenset[str]:
    """The files that the log names, relative to the folder: current ones, and old ones as far as the log goes back."""
    current = DeltaTable(location).get_add_actions(flatten=True)["path"].to_pylist()
    found = {unquote(str(path)) for path in current}
    for path in log:
        if _COMMIT.fullmatch(path):
            for line in bytes(obstore.get(store, path).bytes()).splitlines():
                found |= set(_files(json.loads(line)))
    return frozenset(found)


def _files(action: Any) -> Iterator[str]:
    """The files of one action: of rows, of changes, and of deletion vectors."""
    for fields in filter(None, (action.get(kind) for kind in _FILE_ACTIONS)):
        yield unquote(str(fields["path"]))
        vector = fields.get("deletionVector") or {}
        if vector.get("storageType") == BESIDE_TABLE:
            yield unquote(vector_file(vector["pathOrInlineDv"]))


def _listed(store: ObjectStore) -> Iterator[tuple[str, int]]:
    for batch in obstore.list(store):
        yield from ((str(found["path"]), int(found["size"])) for found in batch)


def _of_other_tables(paths: Iterable[str]) -> Iterator[str]:
    """The files of tables that lie inside."""
    inner = tuple({path.partition(f"{_LOG}/")[0] for path in paths if f"/{_LOG}/" in path})
    yield from (path for path in paths if inner and path.startswith(inner))


def _is_empty(place: str, size: int) -> bool:
    """Whether a file is one of Spark's without a row."""
    name = place.rpartition("/")[2]
    if _VECTOR.fullmatch(name):
        return True
    if size > _MOST_EMPTY or not _OF_SPARK.fullmatch(name):
        return False
    footer = metadata_of(FileStamp(path=place, size=size, modified=0))
    return footer is not None and footer.num_rows == 0


def _checked_by(path: str) -> str | None:
    """The file that a checksum is of."""
    folder, slash, name = path.rpartition("/")
    found = _CHECKSUM.fullmatch(name)
    return f"{folder}{slash}{found[1]}" if found else None


def _remove_empty_folders(folder: Path) -> None:
    for path, _folders, _files in os.walk(folder, topdown=False):
        with suppress(OSError):  # not empty
            Path(path).rmdir()
