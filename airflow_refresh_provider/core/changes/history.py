"""The history of an input after the state that was last applied: its commits, and the sources of its changed rows.

A window is the part of a history that one run consumes. Its beginning is the end of the window before, so windows of
successive runs touch and never overlap.
"""

from __future__ import annotations

from datetime import UTC, datetime

from airflow_refresh_provider.core.changes.pins import FilesPin
from airflow_refresh_provider.core.changes.sources import ChangeSource, ChangeSourceInfo
from airflow_refresh_provider.core.text.stored import Stored


class Window(Stored):
    """The changes of one input after one state, up to another: versions of a table, or digests of lists of files."""

    after: int | str
    upto: int | str

    @property
    def label(self) -> str:
        """The window, for people."""
        if not isinstance(self.after, int):
            return "new files"
        first = self.after + 1
        return f"version {first}" if first == self.upto else f"versions {first} to {self.upto}"


Windows = dict[str, Window]
"""Input name -> window."""


class InputCommit(Stored):
    """One version of an input; a new file is one too, numbered from 1. `adds_only`: no row of before was removed.

    `rows`: about how many it has changed, None where that is not known.
    """

    version: int
    at: datetime
    operation: str
    data_change: bool
    adds_only: bool = False
    rows: int | None = None


class InputHistory(Stored):
    """What is known of an input after an applied state, up to a newer one.

    `commits` are those of the window, oldest first, none missing. `change_sources` have its changed rows, best first.
    `reshaped`: its columns changed in between. `applied_at`: when the applied state was committed, None when that is
    not known.
    """

    commits: tuple[InputCommit, ...]
    change_sources: tuple[ChangeSourceInfo, ...]
    reshaped: bool = False
    applied_at: datetime | None = None

    @property
    def changed(self) -> bool:
        """Whether any row may have changed; compaction does not count."""
        return bool(self.changes)

    @property
    def changes(self) -> tuple[InputCommit, ...]:
        """The commits that changed rows or columns."""
        return tuple(c for c in self.commits if c.data_change) or (self.commits if self.reshaped else ())

    @property
    def adds_only(self) -> bool:
        """Whether the input has only gained rows."""
        return all(commit.adds_only for commit in self.changes)

    @property
    def changed_rows(self) -> int | None:
        """About how many rows have changed; None where that is not known of each commit."""
        rows = [commit.rows for commit in self.changes]
        known = [count for count in rows if count is not None]
        return sum(known) if len(known) == len(rows) else None

    @property
    def readable_until(self) -> datetime | None:
        """When the last change source expires; None when nothing has changed, or one never expires."""
        ends = [s.expires_at for s in self.change_sources if s.expires_at is not None]
        return max(ends) if ends and self.changed and len(ends) == len(self.change_sources) else None

    def best_source(self, now: datetime) -> ChangeSourceInfo | None:
        """The best change source that has not expired."""
        return next((s for s in self.change_sources if s.expires_at is None or now < s.expires_at), None)


def of_files(applied: FilesPin, newest: FilesPin) -> InputHistory | None:
    """The history between two lists of files: the new ones. None when any other was changed or removed."""
    if not set(applied.files) <= set(newest.files):
        return None
    new = sorted(set(newest.files) - set(applied.files), key=lambda f: (f.modified, f.path))
    return InputHistory(
        commits=tuple(
            InputCommit(
                version=number,
                at=datetime.fromtimestamp(file.modified / 1e6, UTC),
                operation="NEW FILE",
                data_change=True,
                adds_only=True,
            )
            for number, file in enumerate(new, start=1)
        ),
        change_sources=(ChangeSourceInfo(source=ChangeSource.FILES, bytes=sum(f.size for f in new)),),
    )
