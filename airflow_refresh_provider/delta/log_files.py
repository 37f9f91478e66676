"""The files of a Delta log, one JSON file per commit, read as they are: delta-rs gives no actions by version.

A commit file may have a checksum file beside it, in which Spark keeps sums over the whole table at that version.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import obstore

from airflow_refresh_provider.delta.storage import open_store, storage
from airflow_refresh_provider.ports.log import LogGap

Action = Mapping[str, Any]
"""One line of a commit file: a single key naming the kind of action, and its fields."""

_FOLDER = "_delta_log"
_FILE = re.compile(r"(\d{20})\.(json|crc)")
_READING = "reading the Delta log"


@dataclass(frozen=True)
class LogFiles:
    """The log as listed once: versions with a commit file and when it was written, and versions with a checksum."""

    location: str
    commits: Mapping[int, datetime]
    checksums: frozenset[int]

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

    def checksum(self, version: int) -> Action | None:
        """The sums Spark stored with a version, None when there are none that can be read."""
        text = self._read(f"{version:020}.crc") if version in self.checksums else None
        try:
            found = json.loads(text) if text else None
        except ValueError:
            return None
        return found if isinstance(found, dict) else None

    def _read(self, name: str) -> bytes | None:
        with storage(_READING, self.location):
            store = open_store(self.location)
            try:
                return None if store is None else bytes(obstore.get(store, f"{_FOLDER}/{name}").bytes())
            except FileNotFoundError:
                return None


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
    return LogFiles(location, found["json"], frozenset(found["crc"]))
