"""Pins: the exact version of each input that one refresh reads.

A table is pinned by its id and version, a set of files by the list of these files. What a pin knows of itself and of
other pins of the same input is here; what needs the storage is in `airflow_refresh_provider.inputs`, by `format`. The
pins of all inputs are the version vector of a refresh; `digest` is the short form of one pin that goes into commits.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import Field

from airflow_refresh_provider.core.changes.reads import BASE_PATH, Read, delta_table
from airflow_refresh_provider.core.changes.sources import FeedRows, SeparateRows
from airflow_refresh_provider.core.text.stored import Stored


class DeltaPin(Stored):
    """One version of one Delta table. `rows` and `bytes` are from its log, None when that has no statistics.

    `hidden`: the columns that a target in layout vnode has besides those of its query.
    """

    kind: Literal["delta"] = "delta"
    location: str
    table_id: str
    version: int
    rows: int | None = None
    bytes: int | None = None
    hidden: tuple[str, ...] = ()

    @property
    def format(self) -> str:
        """The format of the input, as in a definition."""
        return "delta"

    @property
    def digest(self) -> int | str:
        """The version number."""
        return self.version

    def same_as(self, other: Pin) -> bool:
        """Whether both read the same rows. A table that was replaced at the same path is another one."""
        return isinstance(other, DeltaPin) and (self.table_id, self.version) == (other.table_id, other.version)

    def follows(self, older: Pin) -> bool:
        """Whether this state may come from an older one by changes: the same table, at no earlier version."""
        return isinstance(older, DeltaPin) and self.table_id == older.table_id and self.version >= older.version

    def older_than(self, other: Pin) -> bool:
        """Whether it is an earlier version of the same table."""
        return isinstance(other, DeltaPin) and self.table_id == other.table_id and self.version < other.version

    def at(self, digest: int | str, table_id: str | None) -> DeltaPin | None:
        """The same input at another version; None when that is not known."""
        if table_id is None or not isinstance(digest, int):
            return None
        return DeltaPin(location=self.location, table_id=table_id, version=digest, hidden=self.hidden)

    def changed_file_times(self, older: Pin) -> tuple[datetime, ...] | None:
        """None: the log has the times of changes."""
        return None

    def lost_history(self, name: str) -> str:
        """Why the changes since this state of an input are not known, for people."""
        return f"the log of the input {name} no longer has every version after {self.version}"

    def read(self, options: Mapping[str, str]) -> Read:
        """How an engine reads it, with the reader options of its input."""
        return delta_table(self.location, options, self.hidden, versionAsOf=str(self.version))

    def feed_since(self, older: DeltaPin, options: Mapping[str, str]) -> FeedRows:
        """The change data feed of the versions after an older one."""
        versions = {"startingVersion": str(older.version + 1), "endingVersion": str(self.version)}
        return FeedRows(feed=delta_table(self.location, options, self.hidden, readChangeFeed="true", **versions))


class FileStamp(Stored):
    """One file as it was when pinned; size in bytes, modification time in microseconds since the epoch."""

    path: str
    size: int
    modified: int


class IgnoredFiles(Stored):
    """How many files beside those that are read lie in the folder of an input, and one of them."""

    count: int
    example: str


class FilesPin(Stored):
    """A fixed list of files. A file whose size or time has changed since makes the pin unreadable.

    `ignored` are files that lie there too and that Spark does not read with the folder.
    """

    kind: Literal["files"] = "files"
    format: str
    location: str
    files: tuple[FileStamp, ...]
    rows: int | None = None
    ignored: IgnoredFiles | None = None

    @property
    def table_id(self) -> None:
        """None: files are no table."""
        return None

    @property
    def digest(self) -> int | str:
        """A hash over path, size and time of every file."""
        listing = "\n".join(f"{f.path}\t{f.size}\t{f.modified}" for f in sorted(self.files, key=lambda f: f.path))
        return "sha256:" + hashlib.sha256(listing.encode()).hexdigest()

    @property
    def bytes(self) -> int | None:
        """Size of all files together."""
        return sum(f.size for f in self.files)

    def same_as(self, other: Pin) -> bool:
        """Whether both read the same files."""
        return self.follows(other) and (self.location, self.digest) == (other.location, other.digest)

    def follows(self, older: Pin) -> bool:
        """Whether this state may come from an older one by changes: files of the same format."""
        return isinstance(older, FilesPin) and self.format == older.format

    def older_than(self, other: Pin) -> bool:
        """Whether another list has a file that was modified later than all of these."""
        return isinstance(other, FilesPin) and self._newest < other._newest

    def at(self, digest: int | str, table_id: str | None) -> FilesPin | None:
        """The same input at another digest; None when that is not this one, as a digest does not name the files."""
        return self if self.digest == digest else None

    def changed_file_times(self, older: Pin) -> tuple[datetime, ...] | None:
        """When the files that are not in an older list, or not as they are here, were modified."""
        if not isinstance(older, FilesPin):
            return None
        return tuple(datetime.fromtimestamp(f.modified / 1e6, UTC) for f in self.new_files(older))

    def lost_history(self, name: str) -> str:
        """Why the changes since this state of an input are not known, for people."""
        return f"files of the input {name} that the last refresh read were changed or deleted"

    def new_files(self, older: FilesPin) -> tuple[FileStamp, ...]:
        """The files that an older list does not have, or not as they are here."""
        known = set(older.files)
        return tuple(f for f in self.files if f not in known)

    def read(self, options: Mapping[str, str]) -> Read:
        """How an engine reads it, with the reader options of its input."""
        one_file = [f.path for f in self.files] == [self.location]
        given = dict(options) if one_file else {**options, BASE_PATH: self.location}
        return Read(
            location=self.location,
            format=self.format,
            options=given,
            paths=tuple(f.path for f in self.files),
            file_format=self.format,
            file_options=given,
        )

    def rows_since(self, older: FilesPin, options: Mapping[str, str]) -> SeparateRows:
        """The rows of the files that an older list does not have; none were removed."""
        new = tuple(f.path for f in self.new_files(older))
        whole = self.read(options)
        return SeparateRows(added=whole.of_files(new) if new else None, before=older.read(options))

    @property
    def _newest(self) -> int:
        return max((file.modified for file in self.files), default=0)


Pin = Annotated[DeltaPin | FilesPin, Field(discriminator="kind")]

VersionVector = dict[str, Pin]
"""Input name -> pin."""

Digests = dict[str, int | str]
"""Input name -> version or file-list digest: a version vector in short form."""


def digests(vector: VersionVector) -> Digests:
    """The short form that goes into commits, history and output."""
    return {name: pin.digest for name, pin in sorted(vector.items())}


def ignored_files(vector: VersionVector) -> dict[str, IgnoredFiles]:
    """The files that lie in the folders of inputs and are not read, by input."""
    return {n: pin.ignored for n, pin in sorted(vector.items()) if isinstance(pin, FilesPin) and pin.ignored}


def table_ids(vector: VersionVector) -> dict[str, str]:
    """Which tables were read: the ids of those inputs that are tables."""
    return {name: pin.table_id for name, pin in sorted(vector.items()) if pin.table_id is not None}


def same_versions(a: VersionVector, b: VersionVector) -> bool:
    """Whether both vectors read the same rows."""
    return a.keys() == b.keys() and all(pin.same_as(b[name]) for name, pin in a.items())
