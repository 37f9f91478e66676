"""Reading Delta tables without Spark: identity, markers and commits of a target, versions and files of inputs."""

from __future__ import annotations

from typing import Protocol

from airflow_refresh_provider.core.changes import ChangedRows, Means
from airflow_refresh_provider.core.history import InputHistory
from airflow_refresh_provider.core.inputs import Input
from airflow_refresh_provider.core.log import Commit
from airflow_refresh_provider.core.pins import Pin
from airflow_refresh_provider.core.plan import StagedTable
from airflow_refresh_provider.core.stored import Stored


class TableFacts(Stored):
    """A Delta table at its newest version. `rows` and `bytes` are None when its log has no statistics.

    `padded` are the columns whose values Spark fills up when it reads them.
    """

    location: str
    table_id: str
    version: int
    properties: dict[str, str] = {}
    partitioned_by: tuple[str, ...] = ()
    clustered: bool = False
    columns: tuple[str, ...] = ()
    padded: tuple[str, ...] = ()
    rows: int | None = None
    bytes: int | None = None


class LogGap(Exception):
    """Commits that were asked for have been cleaned out of the log."""


class TableLog(Protocol):
    """The Delta log of a table at a location. Errors of storage are errors.Retry or errors.Failed."""

    def facts(self, location: str) -> TableFacts | None:
        """None when there is no Delta table there. Raises Failed when something else is there."""
        ...

    def table_id(self, location: str) -> str | None:
        """Which table it is, None when there is none; cheaper than all facts. Raises as `facts`."""
        ...

    def newest(self, location: str) -> int:
        """The newest version."""
        ...

    def oldest(self, location: str) -> int:
        """The oldest version whose commit file is still there without a gap up to the newest."""
        ...

    def markers(self, location: str) -> dict[str, int]:
        """appId -> newest txnVersion, of every appId of the table."""
        ...

    def commits(self, location: str, after: int, upto: int | None = None) -> tuple[Commit, ...]:
        """The commits of (after, upto], oldest first; upto None = newest. Raises LogGap."""
        ...


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

    def changes(self, applied: Pin, newest: Pin, means: Means, folder: str) -> ChangedRows:
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


class Staging(Protocol):
    """Folders of staged data."""

    def drop(self, location: str) -> None:
        """Remove a folder and everything in it; nothing happens when it is not there."""
        ...

    def changes(self, staged: StagedTable) -> dict[tuple[int, str], int]:
        """How many rows of a staged change set there are of each (vnode, op)."""
        ...

    def files(self, staged: StagedTable) -> tuple[str, ...] | None:
        """The plain parquet files that hold exactly the staged rows, None when no such list exists."""
        ...

    def span(self, staged: StagedTable, column: str) -> tuple[int, int] | None:
        """The smallest and the largest value of an integer column, None when the table's statistics do not tell."""
        ...

    def runs(self, root: str) -> tuple[str, ...]:
        """The run folders below a staging root, by full location."""
        ...
