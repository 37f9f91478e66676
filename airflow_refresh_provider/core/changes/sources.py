"""How an input tells which of its rows have come and gone: what that costs, how long it can, and what is then read.

Every way gives the same: rows that went and rows that came, such that the input as it was, less the former, with the
latter, is the input as it is. Rows that went and came again may stand on both sides.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from airflow_refresh_provider.core.changes.pins import FilesPin
from airflow_refresh_provider.core.text.stored import Stored


class Means(StrEnum):
    """By what an input tells its changes."""

    FEED = "feed"  # the change data feed that a Delta table keeps
    FILES = "files"  # the files that have come and gone; none of them is ever written again


class Telling(Stored):
    """One way in which an input can tell its changes. `bytes` are to be read for it.

    `until`: from when on the input may have forgotten them; None when it will not.
    """

    means: Means
    bytes: int
    until: datetime | None = None


class FeedRows(Stored):
    """The change data feed of the pinned table, from one version to another, both included."""

    kind: Literal["feed"] = "feed"
    first: int
    upto: int


class NewFiles(Stored):
    """Files of the pinned list that are not among those that were read `before`. Nothing went."""

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
