"""The files of a Delta log, one JSON file per commit, read as they are: delta-rs gives no actions by version.

A commit file may have a checksum file beside it, in which Spark keeps sums over the whole table at that version.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import unquote

import obstore
from obstore.store import ObjectStore

from airflow_refresh_provider.delta.storage.object_stores import open_store, storage
from airflow_refresh_provider.ports.table_log import LogGap

Action = Mapping[str, Any]
"""One line of a commit file: a single key naming the kind of action, and its fields."""

_FOLDER = "_delta_log"
_FILE = re.compile(r"(\d{20})\.(json|crc)")
_READING = "reading the Delta log"
_SIDE_BY_SIDE = 16
_AHEAD = 64


@dataclass(frozen=True)
class LogFiles:
    """The log as listed once: versions with a commit file and when it was written, and versions with a checksum."""

    location: str
    commits: Mapping[int, datetime]
    checksums: frozenset[int]
    store: ObjectStore = field(compare=False, repr=False)

    @property
    def newest(self) -> int:
        """The newest version."""
        return max(self.commits)

    @property
    def oldest(self) -> int:
        """The oldest version from which no commit file is missing up to the newest."""
        version = self.newest
        while version - 1 in self.commits:
            version -= 1
        return version

    def actions(self, version: int) -> list[Action]:
        """The actions of one commit. Raises LogGap when its file is gone."""
        text = self._read(f"{version:020}.json") if version in self.commits else None
        if text is None:
            raise LogGap(f"{self.location} has no commit file for version {version}")
        return [json.loads(line) for line in text.splitlines() if line.strip()]

    def between(self, after: int, upto: int) -> Iterator[tuple[int, list[Action]]]:
        """The commits of (after, upto] with their actions, oldest first. Raises LogGap when a file is gone.

        Files are read side by side: storage far away lets each wait for as long as hundreds would take.
        """
        with ThreadPoolExecutor(_SIDE_BY_SIDE, thread_name_prefix="log") as pool:
            for first in range(after + 1, upto + 1, _AHEAD):
                versions = range(first, min(first + _AHEAD, upto + 1))
                yield from zip(versions, pool.map(self.actions, versions), strict=True)

    def checksum(self, version: int) -> Action | None:
        """The sums Spark stored with a version, None when there are none that can be read."""
        text = self._read(f"{version:020}.crc") if version in self.checksums else None
        try:
            found = json.loads(text) if text else None
        except ValueError:
            return None
        return found if isinstance(found, dict) else None

    def has_file(self, path: str) -> bool:
        """Whether a data file, by its path in the log, is still there. One outside of the table's folder counts so."""
        if path.startswith("/") or "://" in path:
            return True
        with storage("looking at a data file", self.location):
            try:
                obstore.head(self.store, unquote(path))
            except FileNotFoundError:
                return False
        return True

    def _read(self, name: str) -> bytes | None:
        with storage(_READING, self.location):
            try:
                return bytes(obstore.get(self.store, f"{_FOLDER}/{name}").bytes())
            except FileNotFoundError:
                return None


def has_log(location: str) -> bool:
    """Whether there is a log of any kind, be it one whose commit files are gone."""
    with storage(_READING, location):
        store = open_store(location)
        return store is not None and bool(obstore.list_with_delimiter(store, _FOLDER)["objects"])


def list_log(location: str) -> LogFiles | None:
    """The log of a table, None when there is no table."""
    found: dict[str, dict[int, datetime]] = {"json": {}, "crc": {}}
    with storage(_READING, location):
        store = open_store(location)
        if store is None:
            return None
        for listed in obstore.list_with_delimiter(store, _FOLDER)["objects"]:
            if match := _FILE.fullmatch(str(listed["path"]).rpartition("/")[2]):
                found[match[2]][int(match[1])] = listed["last_modified"]
    if not found["json"]:
        return None
    return LogFiles(location, found["json"], frozenset(found["crc"]), store)
