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
    names = {name.lower(): name for name in files.column_names}

    def values(kind: str) -> _Ends | None:
        name = names.get(f"{kind}.{column.lower()}")
        return [number_of(value) for value in files[name].to_pylist()] if name else None

    sizes = [int(size) + OPEN_COST for size in files["size_bytes"].to_pylist()]
    of_partitions = values("partition")
    least, most = of_partitions or values("min"), of_partitions or values("max")
    if least is None or most is None:
        return sum(sizes), sum(sizes)
    ends = zip(sizes, least, most, strict=True)
    return sum(size for size, low, high in ends if _may_be_within(low, high, spans)), sum(sizes)


def _may_be_within(least: int | None, most: int | None, spans: Sequence[tuple[int, int]]) -> bool:
    """Whether a file with these ends may have a value within; one without statistics may."""
    if least is None or most is None:
        return True
    return any(low <= most and least <= high for low, high in spans)


def number_of(value: Any) -> int | None:
    """A value as spans have it; None for one that is no number, nor a day."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    return (value - _EPOCH).days if type(value) is date else None
