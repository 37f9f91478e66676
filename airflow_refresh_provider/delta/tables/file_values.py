"""Values of a few rows in data files, read without Spark."""

from __future__ import annotations

from typing import Any

from airflow_refresh_provider.core.changes.reads import Positions
from airflow_refresh_provider.delta.tables.staged_files import MOST_FILES, numbered, opened

_MOST_BYTES = 64 << 20
"""Of the columns of a file, in the parts of it that have chosen rows: Spark reads more of it side by side."""


def values_of(
    files: tuple[str, ...], columns: tuple[str, ...], most: int, chosen: Positions = ()
) -> list[tuple[Any, ...]] | None:
    """Some columns of all rows, or of the chosen ones; None where there are more than `most` rows, or many files, or
    where one is large, cannot be read or has not each column once. Values other than integers, texts and booleans are
    tuples with their text.
    """
    if len(files) > MOST_FILES or sum(map(len, chosen)) > most:
        return None
    import pyarrow as pa  # type: ignore[import-untyped]  # slow to import: only where something has changed

    found: list[tuple[Any, ...]] = []
    try:
        for path, positions in zip(files, chosen or [None] * len(files), strict=True):
            file = opened(path)
            names = _names_in(file, columns)
            if names is None or (positions is None and len(found) + file.metadata.num_rows > most):
                return None
            rows = file.read(columns=names) if positions is None else _at(file, names, positions)
            if rows is None:
                return None
            found += zip(*(_plain(rows[name]) for name in names), strict=True)
    except (pa.ArrowException, OSError):
        return None  # what Spark says of it is reported
    return found


def _at(file: Any, names: list[str], positions: tuple[int, ...]) -> Any:
    """The rows at some positions of a file, as a table of Arrow; None where much is to be read for them."""
    import pyarrow as pa

    parts, read, first = [], 0, 0
    for number in range(file.num_row_groups):
        group = file.metadata.row_group(number)
        inside = [position - first for position in positions if first <= position < first + group.num_rows]
        first += group.num_rows
        if inside:
            read += _bytes_of(group, names)
            if read > _MOST_BYTES:
                return None
            parts.append(file.read_row_group(number, columns=names).take(inside))
    found = pa.concat_tables(parts)
    if found.num_rows != len(positions):
        raise pa.ArrowInvalid("a deletion vector has positions that its file does not have")
    return found


def _bytes_of(group: Any, names: list[str]) -> int:
    chunks = (group.column(n) for n in range(group.num_columns))
    return sum(chunk.total_compressed_size for chunk in chunks if chunk.path_in_schema.split(".")[0] in names)


def _names_in(file: Any, columns: tuple[str, ...]) -> list[str] | None:
    """The columns by their names in a file; None where one of them is missing, or there twice."""
    there: dict[str, list[str]] = {}
    for name in file.schema_arrow.names:
        there.setdefault(name.lower(), []).append(name)
    found = [there.get(column.lower(), []) for column in columns]
    return [names[0] for names in found] if all(len(names) == 1 for names in found) else None


def _plain(column: Any) -> list[Any]:
    import pyarrow as pa

    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_string(kind):
        return list(column.to_pylist())
    return [None if value is None else (repr(value),) for value in numbered(column)]
