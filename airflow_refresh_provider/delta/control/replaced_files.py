"""Data files of a control table that compaction has replaced, deleted once no reader can still read them.

A view is read within seconds of being opened, so they are kept for minutes. The checkpoints of the log list them for no
longer than that, so each compaction notes what it has replaced in an object of its own. The age of a note is by the
clock of the storage that has written it.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection
from contextlib import suppress
from datetime import timedelta

import obstore
from obstore.store import ObjectStore

from airflow_refresh_provider.delta.storage.object_stores import make_store

KEPT = timedelta(minutes=5)

NOTES = "_replaced"
"""Folder in that of the table: readers of Delta pass over names with an underscore."""


class ReplacedFiles:
    """Of the table at a location. Errors of storage are raised as they are."""

    def __init__(self, location: str) -> None:
        self._location = location

    def note(self, files: Collection[str]) -> None:
        """These, by their path in the log, were replaced just now."""
        text = json.dumps(sorted(files)).encode()
        obstore.put(make_store(self._location), f"{NOTES}/{uuid.uuid4()}.json", text)

    def delete_old(self, live: Collection[str]) -> None:
        """Delete what was noted so much earlier than the newest note, but for files that are in the table again."""
        store = make_store(self._location)
        notes = {str(o["path"]): o["last_modified"] for batch in obstore.list(store, f"{NOTES}/") for o in batch}
        for path, at in notes.items():
            if at <= max(notes.values()) - KEPT:
                _delete(store, set(_named(store, path)) - set(live))
                _delete(store, {path})


def _named(store: ObjectStore, path: str) -> list[str]:
    try:
        return [str(name) for name in json.loads(bytes(obstore.get(store, path).bytes()))]
    except FileNotFoundError:
        return []  # another compaction was first


def _delete(store: ObjectStore, paths: Collection[str]) -> None:
    """All in one request where storage has that. Some may be gone: another compaction was first."""
    try:
        obstore.delete(store, sorted(paths))
    except FileNotFoundError:
        for path in sorted(paths):
            with suppress(FileNotFoundError):
                obstore.delete(store, path)
