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

from airflow_refresh_provider.delta.storage.kept_texts import KeptTexts
from airflow_refresh_provider.delta.storage.object_stores import open_store, storage
from airflow_refresh_provider.ports.table_log import LogGap

Action = Mapping[str, Any]
"""One line of a commit file: a single key naming the kind of action, and its fields."""

_FOLDER = "_delta_log"
_FILE = re.compile(r"(?P<version>\d{20})\.(?:(?P<commit>json)|(?P<checksum>crc)|(?P<checkpoint>checkpoint\..+))")
_LAST_CHECKPOINT = "_last_checkpoint"
_READING = "reading the Delta log"
_SIDE_BY_SIDE = 16
_AHEAD = 64
_LISTED_AT_ONCE = 1000

_KEPT = KeptTexts()


@dataclass(frozen=True)
class CommitFile:
    """A commit file as listed: when it was written, and a tag that another file in its place does not have."""

    at: datetime
    tag: str | None


@dataclass(frozen=True)
class LogFiles:
    """The log as listed once: versions with a commit file, with a checksum and with a checkpoint."""

    location: str
    commits: Mapping[int, CommitFile]
    checksums: frozenset[int]
    checkpoints: frozenset[int]
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

    def read_from(self, version: int) -> bool:
        """Whether every reader reads the commit of a version: no later one is missing, no checkpoint replaces it."""
        followed = all(later in self.commits for later in range(version, self.newest + 1))
        return followed and not any(checkpoint >= version for checkpoint in self.checkpoints)

    def actions(self, version: int) -> list[Action]:
        """The actions of one commit. Raises LogGap when its file is gone."""
        text = self._commit(version) if version in self.commits else None
        if text is None:
            raise LogGap(f"{self.location} has no commit file for version {version}")
        return _actions(text)

    def transactions(self, version: int) -> dict[str, int]:
        """appId -> version, of the transactions in one commit. Raises LogGap."""
        found = (action["txn"] for action in self.actions(version) if "txn" in action)
        return {str(txn["appId"]): int(txn["version"]) for txn in found}

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
        return _checksum(self.location, self.store, version) if version in self.checksums else None

    def metadata(self, version: int) -> Action | None:
        """The table's metadata at a version as Spark stored it with its sums; None when there is none."""
        found = (self.checksum(version) or {}).get("metadata")
        return found if isinstance(found, dict) and "id" in found and "schemaString" in found else None

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

    def _commit(self, version: int) -> bytes | None:
        """The text of a commit file, None when it is gone. What was listed under a tag holds what it held then."""
        name, tag = f"{version:020}.json", self.commits[version].tag
        if tag is None:
            return _read(self.location, self.store, name)
        key = (self.location, name, tag)
        if (kept := _KEPT.get(key)) is not None:
            return kept
        text = _read(self.location, self.store, name)
        if text is not None:
            _KEPT.put(key, text)
        return text


def checksum(location: str, version: int) -> Action | None:
    """As `LogFiles.checksum`, without listing the log."""
    with storage(_READING, location):
        store = open_store(location)
    return _checksum(location, store, version) if store is not None else None


def commit(location: str, version: int) -> list[Action] | None:
    """The actions of one commit, without listing the log; None when its file is gone."""
    with storage(_READING, location):
        store = open_store(location)
    text = _read(location, store, f"{version:020}.json") if store is not None else None
    return None if text is None else _actions(text)


def has_log(location: str) -> bool:
    """Whether there is a log of any kind, be it one whose commit files are gone."""
    with storage(_READING, location):
        store = open_store(location)
        return store is not None and bool(obstore.list_with_delimiter(store, _FOLDER)["objects"])


def list_log(location: str, since: int = 0) -> LogFiles | None:
    """The log of a table from a version on; None when there is no table, or no commit from there on."""
    with storage(_READING, location):
        store = open_store(location)
        if store is None:
            return None
        return _listed(location, store, since)


def recent_log(location: str) -> LogFiles | None:
    """The newest part of the log of a table, None when there is no table.

    It begins where readers begin: a log that has been kept for months is not listed whole.
    """
    with storage(_READING, location):
        store = open_store(location)
        if store is None:
            return None
        since = _last_checkpoint(location, store)
        return _listed(location, store, since) or (_listed(location, store, 0) if since else None)


def _listed(location: str, store: ObjectStore, since: int) -> LogFiles | None:
    found: dict[str, dict[int, CommitFile]] = {"commit": {}, "checksum": {}, "checkpoint": {}}
    for batch in obstore.list(store, _FOLDER, offset=f"{_FOLDER}/{since:020}", chunk_size=_LISTED_AT_ONCE):
        for listed in batch:
            match = _FILE.fullmatch(str(listed["path"]).removeprefix(f"{_FOLDER}/"))
            if match and match.lastgroup:
                file = CommitFile(listed["last_modified"], listed["e_tag"])
                found[match.lastgroup][int(match["version"])] = file
    if not found["commit"]:
        return None
    return LogFiles(location, found["commit"], frozenset(found["checksum"]), frozenset(found["checkpoint"]), store)


def _last_checkpoint(location: str, store: ObjectStore) -> int:
    """The version that the table names as its last checkpoint, 0 where it names none."""
    try:
        return int(json.loads(_read(location, store, _LAST_CHECKPOINT) or b"{}")["version"])
    except (ValueError, TypeError, KeyError):
        return 0


def _actions(text: bytes) -> list[Action]:
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def _checksum(location: str, store: ObjectStore, version: int) -> Action | None:
    text = _read(location, store, f"{version:020}.crc")
    try:
        found = json.loads(text) if text else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _read(location: str, store: ObjectStore, name: str) -> bytes | None:
    with storage(_READING, location):
        try:
            return bytes(obstore.get(store, f"{_FOLDER}/{name}").bytes())
        except FileNotFoundError:
            return None
