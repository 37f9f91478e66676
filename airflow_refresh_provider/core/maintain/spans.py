"""Spans of touched values: conditions by which Delta and Parquet pass over files and row groups.

A span only leaves out what cannot be touched, so that rows are found by the touched values themselves in any case.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, timedelta

from airflow_refresh_provider.core.definition.columns import INTEGERS
from airflow_refresh_provider.core.maintain.rounding import rounded_out
from airflow_refresh_provider.core.text.stored import Stored

MOST_SPANS = 32
"""More conditions cost more than they save."""
_LEAST_CUT = 0.5
"""Gaps are left out where they make up this share of all values: scattered values have many small ones."""
_MOST_READ = 0.5
_PAGE_ROWS = 20_000
"""At most so many rows are in a page, by default of Parquet's writers. Spark passes over pages by their ends."""
_LEAST_SKIPPED = 32 << 20
"""A condition has to leave out the other half of a table, and so many bytes, which are read in about a second."""
_LOCAL_LOOK, _REMOTE_LOOK = 16 << 10, 4 << 20
"""So many bytes are read in the time in which a storage says that a file is there."""
_EPOCH = date(1970, 1, 1)
_DAY = 24 * 60 * 60 * 1_000_000
_FIRST_DAY = (date(1600, 1, 1) - _EPOCH).days
"""Files of older days may have statistics by another calendar."""
_COLUMN = re.compile(r"`(?:[^`]|``)+`")


class Spans(Stored):
    """Where the touched values of one anchor lie: the first and the last value of each span.

    Days and microseconds are counted from 1970. `nulls`: NULL is among them.
    """

    type: str
    spans: tuple[tuple[int, int], ...]
    nulls: bool = False

    def condition(self, value: str) -> str:
        """Whether a value, an SQL expression, may be touched."""
        single = ", ".join(self._literal(low) for low, high in self.spans if low == high)
        wide = [(low, high) for low, high in self.spans if low < high]
        within = [f"{value} IN ({single})"] if single else []
        within += [f"{value} BETWEEN {self._literal(low)} AND {self._literal(high)}" for low, high in wide]
        return f"({' OR '.join([*within, f'{value} IS NULL'] if self.nulls else within)})"

    def _literal(self, value: int) -> str:
        if self.type == "date":
            return f"DATE'{_EPOCH + timedelta(days=value)}'"
        if self.type == "timestamp":
            return f"timestamp_micros({value})"
        return f"CAST('{value}' AS BIGINT)"


def number_of(value: str, type: str) -> str | None:
    """A value of a type as an integer, an SQL expression; None for types that have no spans."""
    if type in INTEGERS:
        return f"CAST({value} AS BIGINT)"
    return {"date": f"unix_date({value})", "timestamp": f"unix_micros({value})"}.get(type)


def restricting(spans: Spans, value: str) -> str | None:
    """The condition on a value of a row that is read: a column or, for the sake of partitions, an expression.

    None for a column of timestamps: statistics of files have them in milliseconds.
    """
    if _COLUMN.fullmatch(value):
        return None if spans.type == "timestamp" else spans.condition(value)
    return spans.condition(f"try_cast({value} AS {spans.type})")


def column_of(value: str) -> str | None:
    """The name of the column that an SQL expression is; None for any other expression."""
    return value[1:-1].replace("``", "`") if _COLUMN.fullmatch(value) else None


def columns_in(value: str) -> frozenset[str]:
    """The names of the columns in an SQL expression, in lower case."""
    return frozenset(name[1:-1].replace("``", "`").lower() for name in _COLUMN.findall(value))


def skips_enough(read: int, all: int) -> bool:
    """Whether it is worth its condition to read so many of all bytes of a table.

    A condition makes Spark read statistics and compile code again for each statement: up to a second for each table.
    """
    return read <= _MOST_READ * all and all - read >= _LEAST_SKIPPED


def rows_within(spans: Spans, low: int, high: int, rows: int) -> int:
    """About how many rows of a file have to be read if they are sorted, as many as it has at most.

    Its values are from `low` to `high`. Each span takes its share, and one page of rows.
    """
    parts = [min(last, high) - max(first, low) + 1 for first, last in spans.spans]
    found = [part for part in parts if part > 0]
    return min(rows, rows * sum(found) // (high - low + 1) + _PAGE_ROWS * len(found))


def worth_reading_by_files(read: int, all: int, files: int, *, local: bool) -> bool:
    """Whether so many of all bytes have to be read of so many files that a table is read by these (ADR 75).

    Spark asks the storage for each file, one after the other.
    """
    return read <= _MOST_READ * all and all - read >= files * (_LOCAL_LOOK if local else _REMOTE_LOOK)


def spans_of(type: str, low: int, high: int, gaps: Sequence[tuple[int, int]], *, nulls: bool) -> Spans | None:
    """The spans of values from `low` to `high`; `gaps` are the largest, each between two values that are there."""
    if low < {"date": _FIRST_DAY, "timestamp": _FIRST_DAY * _DAY}.get(type, low):
        return None
    cut = sum(after - before - 1 for before, after in gaps)
    if cut < _LEAST_CUT * (high - low + 1):
        return Spans(type=type, spans=(rounded_out(low, high, type),), nulls=nulls)
    ordered = sorted(gaps)
    begins, ends = [low, *(after for _, after in ordered)], [*(before for before, _ in ordered), high]
    return Spans(type=type, spans=tuple(zip(begins, ends, strict=True)), nulls=nulls)
