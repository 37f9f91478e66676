"""A result as a table. Other modules register the columns of each model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import singledispatch

from airflow_refresh_provider.core.text.stored import Stored

Cell = str | int | None


@dataclass(frozen=True)
class ResultTable:
    """Rows under columns, and lines below them. Without column names it is a list of names and values."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()


@singledispatch
def row(value: Stored) -> dict[str, Cell]:
    """A result as one row of a table, by column."""
    raise TypeError(f"{type(value).__name__} has no row of a table")


@singledispatch
def details(value: Stored) -> ResultTable:
    """One result by itself; by default its row, one column a line."""
    return name_value_table(row(value).items())


def name_value_table(pairs: Iterable[tuple[str, Cell]], notes: tuple[str, ...] = ()) -> ResultTable:
    """A line for each pair that has a value."""
    rows = tuple(
        (name, f"{value:,}" if isinstance(value, int) else value) for name, value in pairs if value is not None
    )
    return ResultTable(("", ""), rows, notes)
