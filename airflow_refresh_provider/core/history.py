"""The history of a Delta input after the version that was last applied: facts read elsewhere, and what they weigh.

A window is the part of a history that one run consumes. Its beginning is the end of the window before, so windows of
successive runs touch and never overlap.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from airflow_refresh_provider.core.stored import Stored


class Window(Stored):
    """The versions (after, upto] of one input."""

    after: int
    upto: int

    @property
    def first(self) -> int:
        """The first version in it."""
        return self.after + 1

    def within(self, changes: tuple[InputCommit, ...]) -> Window:
        """The part from the first of some changes on; what was before them need not be kept by anybody."""
        return Window(after=changes[0].version - 1, upto=self.upto) if changes else self


Windows = dict[str, Window]
"""Input name -> window."""


class InputCommit(Stored):
    """One version of an input. `bytes` are those of the files a reader of its changes has to open."""

    version: int
    at: datetime
    operation: str
    data_change: bool
    bytes: int


class InputHistory(Stored):
    """What the log of an input still tells about the versions after an applied one, up to a newer one.

    `commits` are those of the window, oldest first, none missing. `feed`: a change data feed was kept throughout.
    `reshaped`: its columns changed in between. `kept_for`: how long the table promises to keep what a window needs.
    `applied_at`: when the applied version was committed, None when its log no longer says.
    """

    commits: tuple[InputCommit, ...]
    feed: bool
    reshaped: bool
    kept_for: timedelta
    applied_at: datetime | None = None

    @property
    def moved(self) -> bool:
        """Whether any row may have changed; tidying up does not count."""
        return bool(self.changes)

    @property
    def bytes(self) -> int:
        """What has to be read for the whole window."""
        return sum(c.bytes for c in self.commits)

    @property
    def changes(self) -> tuple[InputCommit, ...]:
        """The commits that changed rows or columns."""
        return tuple(c for c in self.commits if c.data_change) or (self.commits if self.reshaped else ())

    @property
    def readable_until(self) -> datetime | None:
        """From when on the table may have forgotten the changes; None when there are none."""
        return self.changes[0].at + self.kept_for if self.changes else None
