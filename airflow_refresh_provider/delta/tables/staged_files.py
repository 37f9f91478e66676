"""Change sets that Spark has staged as a folder of parquet files, and nothing else: read without Spark.

A statement that has ended has moved all of its files to their places, and no other statement writes to the folder.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from io import BytesIO
from typing import Any

import obstore

from airflow_refresh_provider.core.changes.pins import FileStamp
from airflow_refresh_provider.core.definition.columns import OP, VNODE
from airflow_refresh_provider.delta.storage.file_lists import hidden, list_files, split
from airflow_refresh_provider.delta.storage.object_stores import is_local, make_store, storage, translated
from airflow_refresh_provider.delta.tables.parquet_footers import metadata_of

_IN_ARROW = {"tinyint": "int8", "smallint": "int16", "int": "int32", "bigint": "int64", "boolean": "bool"}
_ONLY_FILE = "part-0.parquet"
MOST_FILES = 32
"""Each is opened twice, one after the other, which takes long in an object store."""


def files_in(folder: str) -> tuple[FileStamp, ...]:
    """The files of a change set; none where there is no such folder."""
    with storage("listing staged changes", folder):
        found = list_files(folder) or ()
    return tuple(file for file in found if not hidden(file.path.removeprefix(f"{folder}/")))


def changes_in(folder: str) -> dict[tuple[int, str], int]:
    """How many rows there are of each (vnode, op)."""
    import pyarrow.compute as pc  # type: ignore[import-untyped]

    found: Counter[tuple[int, str]] = Counter()
    for file in files_in(folder):
        rows = _read(file, [VNODE, OP])
        # Neither `group_by` nor values of Python: Arrow imports pandas for both, which takes longer than all else here.
        for op in rows[OP].unique():
            counted = rows[VNODE].filter(pc.equal(rows[OP], op)).value_counts()
            found.update({(pair["values"], op.as_py()): pair["counts"] for pair in counted.to_pylist()})
    return dict(found)


def rows_of(folder: str) -> int:
    """How many rows there are, by the footers; files that cannot be read have none."""
    footers = (metadata_of(file) for file in files_in(folder))
    return sum(footer.num_rows for footer in footers if footer is not None)


def values_in(folder: str, columns: tuple[str, ...], most: int) -> list[tuple[Any, ...]] | None:
    """Some columns of all rows, dates as days and timestamps as microseconds since 1970; None where there are more than
    `most` rows, or so many files that Spark, which reads them side by side, is faster.
    """
    files = files_in(folder)
    if len(files) > MOST_FILES:
        return None
    footers = [metadata_of(file) for file in files]
    if None in footers or sum(footer.num_rows for footer in footers) > most:
        return None
    read = (_read(file, list(columns)) for file in files)
    return [row for rows in read for row in zip(*(numbered(rows[name]) for name in columns), strict=True)]


def put_values(folder: str, types: tuple[str, ...], rows: Collection[tuple[Any, ...]]) -> None:
    """Write rows as the one file of a folder, in columns k0, k1, ... of these types: integers, text or BOOLEAN."""
    import pyarrow as pa
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    columns = list(zip(*rows, strict=True)) or [()] * len(types)
    arrays = {f"k{n}": pa.array(columns[n], _IN_ARROW.get(kind, kind)) for n, kind in enumerate(types)}
    written = BytesIO()
    pq.write_table(pa.table(arrays), written)
    with storage("staging touched values", folder):
        obstore.put(make_store(folder), _ONLY_FILE, written.getvalue())


def numbered(column: Any) -> list[Any]:
    """The values of a column. Not as dates of Python, which end with the year 9999."""
    import pyarrow as pa

    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    elif pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us")).cast(pa.int64())
    return list(column.to_pylist())


def rows_in(folder: str) -> Any:
    """All staged changes, as a table of Arrow."""
    import pyarrow as pa

    return pa.concat_tables([_read(file) for file in files_in(folder)])


def span_in(folder: str, column: str) -> tuple[int, int] | None:
    """The smallest and the largest value of an integer column by the footers; None where these do not say so."""
    ends: list[tuple[int, int]] = []
    for file in files_in(folder):
        for statistics in _statistics(file, column):
            if statistics is None or not statistics.has_min_max:
                return None
            ends.append((int(statistics.min), int(statistics.max)))
    return (min(low for low, _ in ends), max(high for _, high in ends)) if ends else None


def _statistics(file: FileStamp, column: str) -> Iterator[Any]:
    """The statistics of a column in each row group of a file."""
    footer = metadata_of(file)
    if footer is None:
        yield None
        return
    for group in range(footer.num_row_groups):
        chunks = (footer.row_group(group).column(n) for n in range(footer.num_columns))
        yield next((chunk.statistics for chunk in chunks if chunk.path_in_schema == column), None)


def _read(file: FileStamp, columns: list[str] | None = None) -> Any:
    """Some columns of a file, or all."""
    import pyarrow as pa  # slow to import: only where changes were staged

    try:
        return opened(file.path).read(columns=columns)
    except (pa.ArrowException, OSError) as error:
        raise translated(error, "reading staged changes", file.path) from error


def opened(path: str) -> Any:
    import pyarrow.parquet as pq

    if is_local(path):
        return pq.ParquetFile(path, coerce_int96_timestamp_unit="us")
    folder, name = split(path)
    return pq.ParquetFile(name, filesystem=_file_system(folder), coerce_int96_timestamp_unit="us")


def _file_system(folder: str) -> Any:
    """What reads the parts of a remote file that are asked for, and no others."""
    from deltalake.fs import DeltaStorageHandler
    from pyarrow.fs import PyFileSystem  # type: ignore[import-untyped]

    return PyFileSystem(DeltaStorageHandler(folder))
