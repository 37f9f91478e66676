"""Parquet files as inputs: found, told from other files, counted.

Some names are not data, as in Spark, which reads such files not even where it is given them.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from typing import cast

import obstore
from obstore.store import ObjectStore

from airflow_refresh_provider.core.changes.pins import FileStamp
from airflow_refresh_provider.delta.storage.object_stores import is_local, open_store

SAMPLED_FILES = 8
_SIDE_BY_SIDE = 16

_UNDER_WAY = "._COPYING_"
"""What `hdfs dfs -put` lets the names of files end with until they are whole."""

_MAGIC = b"PAR1"
_SMALLEST = 12  # magic, length of the footer, magic


def list_files(location: str) -> tuple[FileStamp, ...] | None:
    """The files at or below a location, in order of path; None when nothing is there."""
    found = _local_files(Path(location)) if is_local(location) else _remote_files(location)
    return None if found is None else tuple(sorted(found, key=lambda f: f.path))


def hidden(path: str) -> bool:
    """Whether any part of a path says that it is no data. A folder `_day=1` stands for a column all the same."""
    return any(
        name.startswith(".") or (name.startswith("_") and "=" not in name) or name.endswith(_UNDER_WAY)
        for name in path.split("/")
    )


def stamp(path: str) -> FileStamp | None:
    """One file as it is now, None when it is gone."""
    if is_local(path):
        return _stamp(Path(path)) if Path(path).is_file() else None
    try:
        about = obstore.head(*_remote(path))
    except FileNotFoundError:
        return None
    return FileStamp(path=path, size=about["size"], modified=round(about["last_modified"].timestamp() * 1_000_000))


def not_parquet(files: tuple[FileStamp, ...]) -> FileStamp | None:
    """The first file that does not begin and end as parquet does. Those far away are looked at side by side."""
    folders = {_split(f.path)[0] for f in files if not is_local(f.path)}
    stores = {folder: open_store(folder) for folder in folders}
    with ThreadPoolExecutor(_SIDE_BY_SIDE, thread_name_prefix="files") as pool:
        looks = pool.map(lambda f: _is_parquet(f, stores.get(_split(f.path)[0])), files)
        return next((f for f, found in zip(files, looks, strict=True) if not found), None)


def _is_parquet(file: FileStamp, store: ObjectStore | None) -> bool:
    if file.size < _SMALLEST:
        return False
    if store is not None:
        ends = obstore.get_ranges(store, _split(file.path)[1], starts=[0, file.size - 4], lengths=[4, 4])
        return all(bytes(end) == _MAGIC for end in ends)
    with Path(file.path).open("rb") as opened:
        head = opened.read(4)
        opened.seek(-4, 2)
        return head == opened.read(4) == _MAGIC


def count_rows(files: tuple[FileStamp, ...]) -> int | None:
    """About how many rows: exact for a few files, else as dense as some of them; None when footers cannot be read."""
    if not files:
        return 0
    step = -(-len(files) // SAMPLED_FILES)
    sample = files[::step]
    counts = [rows for rows in map(_rows_of, sample) if rows is not None]
    if len(counts) < len(sample):
        return None
    return sum(counts) * sum(f.size for f in files) // max(1, sum(f.size for f in sample))


def _rows_of(file: FileStamp) -> int | None:
    import pyarrow as pa  # type: ignore[import-untyped]  # slow to import, and rarely needed
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    try:
        source = file.path if is_local(file.path) else BytesIO(_footer(file))
        return int(pq.read_metadata(source).num_rows)
    except (pa.ArrowException, OSError):
        return None


def _footer(file: FileStamp) -> bytes:
    """The end of a remote file, as a parquet file without data. Its last eight bytes are a length and the magic."""
    store, key = _remote(file.path)
    length = int.from_bytes(bytes(obstore.get_range(store, key, start=file.size - 8, length=4)), "little")
    size = min(length + 8, file.size)
    return _MAGIC + bytes(obstore.get_range(store, key, start=file.size - size, length=size))


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
    # Of folders on object stores some tools leave an empty object behind, and no file is empty that is parquet.
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


def _remote(path: str) -> tuple[ObjectStore, str]:
    folder, name = _split(path)
    return cast(ObjectStore, open_store(folder)), name


def _split(path: str) -> tuple[str, str]:
    folder, _, name = path.rpartition("/")
    return folder, name
