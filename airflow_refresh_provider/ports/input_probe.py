"""Inputs, read without Spark: their versions, files and changes."""

from __future__ import annotations

from typing import Protocol

from airflow_refresh_provider.core.changes.history import InputHistory
from airflow_refresh_provider.core.changes.pins import Pin
from airflow_refresh_provider.core.changes.sources import ChangedRows, ChangeSource
from airflow_refresh_provider.core.definition.inputs import Input


class InputProbe(Protocol):
    """Versions of inputs, found without Spark."""

    def pin(self, name: str, input: Input) -> Pin:
        """What the input is now. Raises errors.Invalid when it is missing or not what its format says."""
        ...

    def unreadable(self, pin: Pin) -> str | None:
        """Why the pinned state cannot be read any more, None when it can."""
        ...

    def history(self, applied: Pin, newest: Pin) -> InputHistory | None:
        """What happened to an input after one state up to another that follows it; None when that can no longer all be
        told.
        """
        ...

    def changes(self, applied: Pin, newest: Pin, source: ChangeSource, folder: str) -> ChangedRows:
        """What an engine reads to have the rows that changed in between, by means that the history has named."""
        ...

    def files(self, pin: Pin) -> tuple[tuple[str, int], ...] | None:
        """(path, size) of the plain parquet files that make up exactly the pinned rows, None when no such list exists.

        A Delta version has one when no file of it carries a deletion vector and the table has neither partition columns
        nor column mapping nor columns of whose types it tells more than its files do.
        """
        ...

    def rows(self, pin: Pin) -> int | None:
        """About how many rows; exact for Delta with statistics, estimated for files, None when unknown."""
        ...
