"""Folders of staged data below the staging root."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Protocol

from airflow_refresh_provider.core.changes.reads import Positions
from airflow_refresh_provider.core.plan.plan import StagedTable

Names = tuple[str, ...]
"""Of files or of columns."""


class Staging(Protocol):
    """Folders of staged data."""

    def drop(self, location: str) -> None:
        """Remove a folder and everything in it; nothing happens when it is not there."""
        ...

    def has(self, staged: StagedTable) -> bool:
        """Whether the staged rows are there."""
        ...

    def changes(self, staged: StagedTable) -> dict[tuple[int, str], int]:
        """How many rows of a staged change set there are of each (vnode, op)."""
        ...

    def files(self, staged: StagedTable) -> tuple[str, ...] | None:
        """The plain parquet files that hold exactly the staged rows, None when no such list exists."""
        ...

    def rows(self, folder: str) -> int:
        """How many rows the plain parquet files of a folder have; 0 where there is no such folder, or no such file."""
        ...

    def span(self, staged: StagedTable, column: str) -> tuple[int, int] | None:
        """The smallest and the largest value of an integer column, None when there are no statistics of it."""
        ...

    def runs(self, root: str) -> tuple[str, ...]:
        """The run folders below a staging root, by full location."""
        ...


class StagedValues(Protocol):
    """The content of a few small parquet files, read without Spark: a job of Spark takes longer."""

    def values(self, folder: str, columns: tuple[str, ...], most: int) -> list[tuple[Any, ...]] | None:
        """Some columns of all rows; None where there are more than `most` rows, or many files.

        Dates are days, and timestamps microseconds, since 1970.
        """
        ...

    def of_files(self, files: Names, columns: Names, most: int, chosen: Positions = ()) -> list[tuple[Any, ...]] | None:
        """Some columns of all rows in plain parquet files, or of those at some positions of each, in any case of their
        names; None where there are more than `most` rows, or many files, or where one cannot be read, or has not each
        column once, or is large.

        Integers, texts, booleans and NULL are what they are in Python. Any other value is a tuple with its text.
        """
        ...

    def stage(self, folder: str, types: tuple[str, ...], rows: Collection[tuple[Any, ...]]) -> None:
        """Write rows to a folder, in columns k0, k1, ... of these types: integers, text or BOOLEAN."""
        ...
