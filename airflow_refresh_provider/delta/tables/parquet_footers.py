"""Parquet files: recognised by their first and last bytes, and their rows counted from their footers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from typing import Any

import obstore
from obstore.store import ObjectStore

from airflow_refresh_provider.core.changes.pins import FileStamp
from airflow_refresh_provider.delta.storage.file_lists import open_remote, split
from airflow_refresh_provider.delta.storage.object_stores import is_local, open_store

SAMPLED_FILES = 8
_SIDE_BY_SIDE = 16

_MAGIC = b"PAR1"
_SPARK_TYPES = {
    "int8": "tinyint", "int16": "smallint", "int32": "int", "int64": "bigint", "string": "string", "bool": "boolean",
    "date32[day]": "date", "double": "double", "float": "float",
}  # fmt: skip
_SMALLEST = 12  # magic, length of the footer, magic


def not_parquet(files: tuple[FileStamp, ...]) -> FileStamp | None:
    """The first file that does not begin and end as parquet does. Those far away are looked at side by side."""
    folders = {split(f.path)[0] for f in files if not is_local(f.path)}
    stores = {folder: open_store(folder) for folder in folders}
    with ThreadPoolExecutor(_SIDE_BY_SIDE, thread_name_prefix="files") as pool:
        looks = pool.map(lambda f: _is_parquet(f, stores.get(split(f.path)[0])), files)
        return next((f for f, found in zip(files, looks, strict=True) if not found), None)


def _is_parquet(file: FileStamp, store: ObjectStore | None) -> bool:
    if file.size < _SMALLEST:
        return False
    if store is not None:
        ends = obstore.get_ranges(store, split(file.path)[1], starts=[0, file.size - 4], lengths=[4, 4])
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


def columns_of(file: FileStamp) -> dict[str, str]:
    """The columns and their Spark types, "" for those that another writer may mean otherwise; none if unreadable."""
    metadata = metadata_of(file)
    if metadata is None:
        return {}
    return {field.name: _SPARK_TYPES.get(str(field.type), "") for field in metadata.schema.to_arrow_schema()}


def _rows_of(file: FileStamp) -> int | None:
    metadata = metadata_of(file)
    return None if metadata is None else int(metadata.num_rows)


def metadata_of(file: FileStamp) -> Any:
    """The footer of a file, None when it cannot be read."""
    import pyarrow as pa  # type: ignore[import-untyped]  # slow to import, and rarely needed
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    try:
        return pq.read_metadata(file.path if is_local(file.path) else BytesIO(_footer(file)))
    except (pa.ArrowException, OSError):
        return None


def _footer(file: FileStamp) -> bytes:
    """The end of a remote file, as a parquet file without data. Its last eight bytes are a length and the magic."""
    store, key = open_remote(file.path)
    length = int.from_bytes(bytes(obstore.get_range(store, key, start=file.size - 8, length=4)), "little")
    size = min(length + 8, file.size)
    return _MAGIC + bytes(obstore.get_range(store, key, start=file.size - size, length=size))
