"""Folders of staged data: listed and removed, on a local disk or in an object store."""

from __future__ import annotations

import shutil
from pathlib import Path

import obstore

from airflow_refresh_provider.delta.storage import is_local, open_store, storage

_TRIES = 3  # a statement that still runs may put files into a folder while it is emptied


class StagingFolders:
    """Folders by their full location."""

    def drop(self, location: str) -> None:
        """Remove a folder and everything in it; nothing happens when it is not there."""
        with storage("removing", location):
            if is_local(location):
                _drop_local(Path(location))
            else:
                _drop_objects(location)

    def runs(self, root: str) -> tuple[str, ...]:
        """The run folders below a staging root, by full location."""
        with storage("listing staging", root):
            store = open_store(root)
            if store is None:
                return ()
            listed = obstore.list_with_delimiter(store)["common_prefixes"]
        names = {str(path).rstrip("/").rpartition("/")[2] for path in listed}
        return tuple(f"{root}/{name}" for name in sorted(names))


def _drop_local(folder: Path) -> None:
    for _ in range(_TRIES):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
    shutil.rmtree(folder)


def _drop_objects(location: str) -> None:
    store = open_store(location)
    if store is not None:
        for batch in obstore.list(store):
            obstore.delete(store, [str(o["path"]) for o in batch])
