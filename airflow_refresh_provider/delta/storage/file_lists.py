"""Lists of files below a location. Some names are not data, as in Spark, which does not read such files."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import obstore
from obstore.store import ObjectStore

from airflow_refresh_provider.core.changes.pins import FileStamp
from airflow_refresh_provider.delta.storage.object_stores import is_local, open_store

_IN_PROGRESS = "._COPYING_"
"""How the names of files end that `hdfs dfs -put` is still writing."""


def list_files(location: str) -> tuple[FileStamp, ...] | None:
    """The files at or below a location, in order of path; None when nothing is there."""
    found = _local_files(Path(location)) if is_local(location) else _remote_files(location)
    return None if found is None else tuple(sorted(found, key=lambda f: f.path))


def hidden(path: str) -> bool:
    """Whether any part of a path says that it is not data. A folder like `_day=1` is a partition all the same."""
    return any(
        name.startswith(".") or (name.startswith("_") and "=" not in name) or name.endswith(_IN_PROGRESS)
        for name in path.split("/")
    )


def stamp(path: str) -> FileStamp | None:
    """One file as it is now, None when it is gone."""
    if is_local(path):
        return _stamp(Path(path)) if Path(path).is_file() else None
    try:
        about = obstore.head(*open_remote(path))
    except FileNotFoundError:
        return None
    return FileStamp(path=path, size=about["size"], modified=round(about["last_modified"].timestamp() * 1_000_000))


def open_remote(path: str) -> tuple[ObjectStore, str]:
    """The store of the folder of a remote file, and the name of the file in it."""
    folder, name = split(path)
    return cast(ObjectStore, open_store(folder)), name


def split(path: str) -> tuple[str, str]:
    """The folder and the name of a file."""
    folder, _, name = path.rpartition("/")
    return folder, name


def _local_files(location: Path) -> list[FileStamp] | None:
    if location.is_file():
        return [_stamp(location)]
    if not location.is_dir():
        return None
    found: list[FileStamp] = []
    for entry in location.iterdir():
        if not hidden(entry.name):
            found += _local_files(entry) or []
    return found


def _remote_files(location: str) -> list[FileStamp] | None:
    if one := stamp(location):
        return [one]
    store = open_store(location)
    assert store is not None
    # Some tools create an empty object for a folder, and no data file is empty.
    listed = [o for batch in obstore.list(store) for o in batch if o["size"]]
    if not listed:
        return None
    return [
        FileStamp(
            path=f"{location}/{o['path']}",
            size=o["size"],
            modified=round(o["last_modified"].timestamp() * 1_000_000),
        )
        for o in listed
        if not hidden(o["path"])
    ]


def _stamp(path: Path) -> FileStamp:
    about = path.stat()
    return FileStamp(path=str(path), size=about.st_size, modified=about.st_mtime_ns // 1000)
