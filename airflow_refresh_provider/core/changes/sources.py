"""Change sources: where the changed rows of an input come from, what reading them costs, and what is read.

Every source gives the same: removed rows and added rows, such that the old state less the former and with the latter is
the new state. Rows that were removed and added again may stand on both sides.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from airflow_refresh_provider.core.changes.reads import Read
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
    """A change data feed: each row with its kind of change.

    `feed` is that of the table, or some files of it; then `removed` and `added` are data files that went and came
    whole, of which the feed has no files.
    """

    kind: Literal["feed"] = "feed"
    feed: Read
    removed: Read | None = None
    added: Read | None = None


class SeparateRows(Stored):
    """Removed rows and added rows, each by a read of their own; None where there are none.

    `before` is the input as it was, where the columns that Spark finds in it must be those that it finds now.
    """

    kind: Literal["separate"] = "separate"
    removed: Read | None = None
    added: Read | None = None
    before: Read | None = None


ChangedRows = Annotated[FeedRows | SeparateRows, Field(discriminator="kind")]
"""What an engine reads to have the removed and the added rows of an input."""
