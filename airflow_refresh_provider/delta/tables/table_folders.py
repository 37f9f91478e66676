"""Deleting a table by its log: only files that the log names are removed, whatever else lies in the folder."""

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

from airflow_refresh_provider.delta.storage.object_stores import is_local, open_store, storage
from airflow_refresh_provider.delta.tables.file_tables import BESIDE_TABLE, vector_file

_LOG = "_delta_log"
_COMMIT = re.compile(rf"{_LOG}/\d{{20}}\.json")
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
            found = frozenset(_listed(store))
            log = frozenset(path for path in found if path.startswith(f"{_LOG}/"))
            named = _named(store, location, log) & found
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


def _listed(store: ObjectStore) -> Iterator[str]:
    for batch in obstore.list(store):
        yield from (str(found["path"]) for found in batch)


def _remove_empty_folders(folder: Path) -> None:
    for path, _folders, _files in os.walk(folder, topdown=False):
        with suppress(OSError):  # not empty
            Path(path).rmdir()
