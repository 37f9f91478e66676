"""Pins: the exact version of each input that one refresh reads.

A table is pinned by its id and version, a set of files by the list of these files. What a pin knows of itself and of
other pins of the same input is here; what needs the storage is in `airflow_refresh_provider.inputs`, by `format`. The
pins of all inputs are the version vector of a refresh; `digest` is the short form of one pin that goes into commits.

Where a place is written with variables, what is kept of it is that text: `as_written` is the form to store and to show.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Annotated, Literal, Self

from pydantic import Field

from airflow_refresh_provider.core.changes.reads import BASE_PATH, Read, delta_table
from airflow_refresh_provider.core.changes.sources import FeedRows, SeparateRows
from airflow_refresh_provider.core.text.stored import Stored
from airflow_refresh_provider.core.text.variables import value_digest


class Variables(Stored):
    """A place as its definition writes it, with variables, and the digest of the place with these filled in."""

    written: str
    digest: str


class PlacedPin(Stored):
    """What all pins have: the `location`, and where it comes from if it was written with variables."""

    location: str
    variables: Variables | None = None

    @property
    def located(self) -> bool:
        """Whether the location is a place; it is none where the value of a variable is missing or has changed."""
        return self.variables is None or self.location != self.variables.written

    def written_as(self, written: str) -> Self:
        """The pin of a place that is written with variables."""
        return self.model_copy(
            update={"variables": Variables(written=written, digest=value_digest(self.location))},
        )

    def as_written(self) -> Self:
        """The pin without values of variables."""
        return self.moved(self.variables.written) if self.variables and self.located else self

    def as_located(self, place_of: Callable[[str], str | None]) -> Self:
        """The pin with its variables filled in by `place_of`; as it is where they have other values, or none."""
        if self.variables is None or self.located:
            return self
        place = place_of(self.variables.written)
        return self.moved(place) if place is not None and value_digest(place) == self.variables.digest else self

    def moved(self, location: str) -> Self:
        """The same at another location."""
        return self.model_copy(update={"location": location})

    def moved_path(self, path: str, location: str) -> str:
        """A path below this location, below another one; any other path as it is."""
        below = path == self.location or path.startswith(f"{self.location}/")
        return location + path[len(self.location) :] if below else path


class DeltaPin(PlacedPin):
    """One version of one Delta table. `rows` and `bytes` are from its log, None when that has no statistics.

    `hidden`: the columns that a target in layout vnode has besides those of its query. `quoted_partitions`: whether the
    name of a partition column has to be quoted in SQL.
    """

    kind: Literal["delta"] = "delta"
    table_id: str
    version: int
    rows: int | None = None
    bytes: int | None = None
    hidden: tuple[str, ...] = ()
    quoted_partitions: bool = False

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
        return isinstance(other, DeltaPin) and self.follows(other) and self.version == other.version

    def follows(self, older: Pin) -> bool:
        """Whether this state may come from an older one by changes: the same table, at no earlier version."""
        return (
            isinstance(older, DeltaPin)
            and self.located
            and older.located
            and self.table_id == older.table_id
            and self.version >= older.version
        )

    def older_than(self, other: Pin) -> bool:
        """Whether it is an earlier version of the same table."""
        return isinstance(other, DeltaPin) and self.table_id == other.table_id and self.version < other.version

    def at(self, digest: int | str, table_id: str | None) -> DeltaPin | None:
        """The same input at another version; None when that is not known."""
        if table_id is None or not isinstance(digest, int):
            return None
        return DeltaPin(
            location=self.location,
            variables=self.variables,
            table_id=table_id,
            version=digest,
            hidden=self.hidden,
            quoted_partitions=self.quoted_partitions,
        )

    def changed_file_times(self, older: Pin) -> tuple[datetime, ...] | None:
        """None: the log has the times of changes."""
        return None

    def lost_history(self, name: str) -> str:
        """Why the changes since this state of an input are not known, for people."""
        return f"the log of the input {name} no longer has every version after {self.version}"

    def read(self, options: Mapping[str, str]) -> Read:
        """How an engine reads it, with the reader options of its input."""
        read = delta_table(self.location, options, self.hidden, versionAsOf=str(self.version))
        return read.model_copy(update={"quoted_partitions": self.quoted_partitions})

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


class FilesPin(PlacedPin):
    """A fixed list of files. A file whose size or time has changed since makes the pin unreadable.

    `ignored` are files that lie there too and that Spark does not read with the folder.
    """

    kind: Literal["files"] = "files"
    format: str
    files: tuple[FileStamp, ...]
    rows: int | None = None
    ignored: IgnoredFiles | None = None

    @property
    def table_id(self) -> None:
        """None: files are no table."""
        return None

    @property
    def digest(self) -> int | str:
        """A hash over path, size and time of every file, and over the digest of a place with variables."""
        files = sorted(self.as_written().files, key=lambda f: f.path)
        place = f"{self.variables.digest}\n" if self.variables else ""
        listing = place + "\n".join(f"{f.path}\t{f.size}\t{f.modified}" for f in files)
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
        return isinstance(older, FilesPin) and self.located and older.located and self.format == older.format

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

    def moved(self, location: str) -> FilesPin:
        """The same files below another location."""
        files = tuple(f.model_copy(update={"path": self.moved_path(f.path, location)}) for f in self.files)
        ignored = self.ignored and self.ignored.model_copy(
            update={"example": self.moved_path(self.ignored.example, location)}
        )
        return self.model_copy(update={"location": location, "files": files, "ignored": ignored})

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
    """The files that lie in the folders of inputs and are not read, by input; their folders as they are written."""
    shown = ((name, pin.as_written()) for name, pin in sorted(vector.items()))
    return {name: pin.ignored for name, pin in shown if isinstance(pin, FilesPin) and pin.ignored}


def table_ids(vector: VersionVector) -> dict[str, str]:
    """Which tables were read: the ids of those inputs that are tables."""
    return {name: pin.table_id for name, pin in sorted(vector.items()) if pin.table_id is not None}


def same_versions(a: VersionVector, b: VersionVector) -> bool:
    """Whether both vectors read the same rows."""
    return a.keys() == b.keys() and all(pin.same_as(b[name]) for name, pin in a.items())


def size_of(pins: VersionVector) -> int | None:
    """Size of the data files of all inputs, None if a log does not record it."""
    sizes = [pin.bytes for pin in pins.values()]
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None
