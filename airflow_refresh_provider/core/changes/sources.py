"""Change sources: where the changed rows of an input come from, what reading them costs, and what is read.

Every source gives the same: removed rows and added rows, such that the old state less the former and with the latter is
the new state. Rows that were removed and added again may stand on both sides.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from airflow_refresh_provider.core.changes.pins import FilesPin
from airflow_refresh_provider.core.text.stored import Stored


class ChangeSource(StrEnum):
    """Where the changed rows of an input come from."""

    FEED = "feed"  # the change data feed of a Delta table
    FILES = "files"  # the files that were added and removed; a data file is never written again


class ChangeSourceInfo(Stored):
    """One change source of an input. `bytes` are to be read for it.

    `expires_at`: from when on its changes may have been cleaned up; None = never.
    """

    source: ChangeSource
    bytes: int
    expires_at: datetime | None = None


class FeedRows(Stored):
    """The change data feed of the pinned table, from one version to another, both included."""

    kind: Literal["feed"] = "feed"
    first: int
    upto: int


class NewFiles(Stored):
    """Files of the pinned list that are not among those that were read `before`. Nothing was removed."""

    kind: Literal["new_files"] = "new_files"
    files: tuple[str, ...]
    before: FilesPin


class FileTables(Stored):
    """The files of a table that went, and those that came, each as a table of their own; None where there are none."""

    kind: Literal["file_tables"] = "file_tables"
    went: str | None
    came: str | None


ChangedRows = Annotated[FeedRows | NewFiles | FileTables, Field(discriminator="kind")]
"""What an engine reads to have the rows that went and those that came."""
