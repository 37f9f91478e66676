"""The history of an input after the state that was last applied: facts read elsewhere, and what they weigh.

A window is the part of a history that one run consumes. Its beginning is the end of the window before, so windows of
successive runs touch and never overlap.
"""

from __future__ import annotations

from datetime import UTC, datetime

from airflow_refresh_provider.core.changes.pins import FilesPin
from airflow_refresh_provider.core.changes.sources import Means, Telling
from airflow_refresh_provider.core.text.stored import Stored


class Window(Stored):
    """What happened to one input after one state, up to another: versions of a table, or digests of lists of files."""

    after: int | str
    upto: int | str

    @property
    def told(self) -> str:
        """It in words."""
        return f"versions {self.after + 1} to {self.upto}" if isinstance(self.after, int) else "new files"


Windows = dict[str, Window]
"""Input name -> window."""


class InputCommit(Stored):
    """One version of an input; a file that came is one too, numbered from 1."""

    version: int
    at: datetime
    operation: str
    data_change: bool


class InputHistory(Stored):
    """What can still be told of an input after an applied state, up to a newer one.

    `commits` are those of the window, oldest first, none missing. `tellings` are the ways in which it can tell the rows
    that have changed, best first. `reshaped`: its columns changed in between. `applied_at`: when the applied state was
    made, None when that is not known.
    """

    commits: tuple[InputCommit, ...]
    tellings: tuple[Telling, ...]
    reshaped: bool = False
    applied_at: datetime | None = None

    @property
    def moved(self) -> bool:
        """Whether any row may have changed; tidying up does not count."""
        return bool(self.changes)

    @property
    def changes(self) -> tuple[InputCommit, ...]:
        """The commits that changed rows or columns."""
        return tuple(c for c in self.commits if c.data_change) or (self.commits if self.reshaped else ())

    @property
    def readable_until(self) -> datetime | None:
        """From when on the input may have forgotten the changes; None when there are none, or it will not."""
        ends = [t.until for t in self.tellings if t.until is not None]
        return max(ends) if ends and self.moved and len(ends) == len(self.tellings) else None

    def telling(self, now: datetime) -> Telling | None:
        """The best way that is still open."""
        return next((t for t in self.tellings if t.until is None or now < t.until), None)


def of_files(applied: FilesPin, newest: FilesPin) -> InputHistory | None:
    """What two lists of files tell: which came. None when others have changed or gone, and their rows with them."""
    if not set(applied.files) <= set(newest.files):
        return None
    came = sorted(set(newest.files) - set(applied.files), key=lambda f: (f.modified, f.path))
    return InputHistory(
        commits=tuple(
            InputCommit(
                version=number,
                at=datetime.fromtimestamp(file.modified / 1e6, UTC),
                operation="NEW FILE",
                data_change=True,
            )
            for number, file in enumerate(came, start=1)
        ),
        tellings=(Telling(means=Means.FILES, bytes=sum(f.size for f in came)),),
    )
