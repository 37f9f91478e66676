"""Which files of a table may have values within spans, by the statistics and partition values of its log."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

from deltalake import DeltaTable

from airflow_refresh_provider.delta.tables.delta_table import listed_files
from airflow_refresh_provider.ports.table_log import OPEN_COST

_EPOCH = date(1970, 1, 1)
_Ends = list[int | None]


def sizes_within(table: DeltaTable, column: str, spans: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The size of the files that may have values of a column within the spans, and of all files."""
    files = listed_files(table)
    sizes = [int(size) + OPEN_COST for size in files["size_bytes"].to_pylist()]
    of_partitions = _numbers(files, f"partition.{column}")
    least, most = (of_partitions, of_partitions) if of_partitions else ends_of(files, column)
    ends = zip(sizes, least, most, strict=True)
    return sum(size for size, low, high in ends if _may_be_within(low, high, spans)), sum(sizes)


def ends_of(files: Any, column: str) -> tuple[_Ends, _Ends]:
    """The least and the largest value of a column in each file, as spans have them; None where that is not known."""
    unknown: _Ends = [None] * files.num_rows
    return _numbers(files, f"min.{column}") or unknown, _numbers(files, f"max.{column}") or unknown


def _numbers(files: Any, name: str) -> _Ends | None:
    """What the log says of each file, by a name in any case."""
    known = {column.lower(): column for column in files.column_names}.get(name.lower())
    return [_number(value) for value in files[known].to_pylist()] if known else None


def _may_be_within(least: int | None, most: int | None, spans: Sequence[tuple[int, int]]) -> bool:
    """Whether a file with these ends may have a value within; one without statistics may."""
    if least is None or most is None:
        return True
    return any(low <= most and least <= high for low, high in spans)


def _number(value: Any) -> int | None:
    """A value as spans have it; None for one that is no number, nor a day."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    return (value - _EPOCH).days if type(value) is date else None
