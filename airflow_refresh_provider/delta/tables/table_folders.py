"""Deleting a table by its log: only files that the log names are removed, whatever else lies in the folder."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import obstore
from deltalake import DeltaTable
from obstore.store import ObjectStore

from airflow_refresh_provider.delta.storage.object_stores import is_local, open_store, storage
from airflow_refresh_provider.delta.tables.file_tables import BESIDE_TABLE, vector_file

_LOG = "_delta_log"
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
            named = _named(store, location)
            # The log goes last: a deletion that was interrupted is repeated by it.
            _delete(store, (path for path in _listed(store) if path in named))
            _delete(store, (path for path in _listed(store) if path.startswith(f"{_LOG}/")))
            left = tuple(sorted(_listed(store)))
            if is_local(location):
                _remove_empty_folders(Path(location))
            return left


def _named(store: ObjectStore, location: str) -> frozenset[str]:
    """The files that the log names, relative to the folder: current ones, and old ones as far as the log goes back."""
    current = DeltaTable(location).get_add_actions(flatten=True)["path"].to_pylist()
    found = {unquote(str(path)) for path in current}
    for path in _listed(store, f"{_LOG}/"):
        if path.endswith(".json") and path.count("/") == 1:
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


def _listed(store: ObjectStore, prefix: str | None = None) -> Iterator[str]:
    for batch in obstore.list(store, prefix):
        yield from (str(found["path"]) for found in batch)


def _delete(store: ObjectStore, paths: Iterable[str]) -> None:
    if found := list(paths):
        obstore.delete(store, found)


def _remove_empty_folders(folder: Path) -> None:
    for path, _folders, _files in os.walk(folder, topdown=False):
        with suppress(OSError):  # not empty
            Path(path).rmdir()
