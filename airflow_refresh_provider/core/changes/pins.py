"""Pins: the exact version of each input that one refresh reads.

A Delta input is pinned by its table id and version, a set of parquet files by the list of its files. The pins of all
inputs are the version vector of a refresh; `digest` is the short form of one pin that goes into commits.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Literal

from pydantic import Field

from airflow_refresh_provider.core.text.stored import Stored


class DeltaPin(Stored):
    """One version of one Delta table. `rows` and `bytes` are what its log says, None when it has no statistics."""

    kind: Literal["delta"] = "delta"
    location: str
    table_id: str
    version: int
    rows: int | None = None
    bytes: int | None = None

    @property
    def digest(self) -> int | str:
        """The version number."""
        return self.version


class FileStamp(Stored):
    """One file as it was when pinned; size in bytes, modification time in microseconds since the epoch."""

    path: str
    size: int
    modified: int


class FilesPin(Stored):
    """A fixed list of files. A file whose size or time has changed since makes the pin unreadable."""

    kind: Literal["files"] = "files"
    location: str
    files: tuple[FileStamp, ...]
    rows: int | None = None

    @property
    def digest(self) -> int | str:
        """A hash over path, size and time of every file."""
        listing = "\n".join(f"{f.path}\t{f.size}\t{f.modified}" for f in sorted(self.files, key=lambda f: f.path))
        return "sha256:" + hashlib.sha256(listing.encode()).hexdigest()

    @property
    def bytes(self) -> int | None:
        """Size of all files together."""
        return sum(f.size for f in self.files)

    def paths_beside(self, other: FilesPin) -> tuple[str, ...]:
        """The files that another list does not have, or not as they are here."""
        known = set(other.files)
        return tuple(f.path for f in self.files if f not in known)


Pin = Annotated[DeltaPin | FilesPin, Field(discriminator="kind")]

VersionVector = dict[str, Pin]
"""Input name -> pin."""

Digests = dict[str, int | str]
"""Input name -> version or file-list digest: a version vector in short form."""


def digests(vector: VersionVector) -> Digests:
    """The short form that goes into commits, history and output."""
    return {name: pin.digest for name, pin in sorted(vector.items())}


def table_ids(vector: VersionVector) -> dict[str, str]:
    """Which tables were read: the ids of those inputs that are Delta tables."""
    return {name: pin.table_id for name, pin in sorted(vector.items()) if isinstance(pin, DeltaPin)}


def same_versions(a: VersionVector, b: VersionVector) -> bool:
    """Whether both vectors read exactly the same data, tables re-created under the same path told apart."""
    return a.keys() == b.keys() and all(_identity(a[name]) == _identity(b[name]) for name in a)


def follows(newer: Pin, older: Pin) -> bool:
    """Whether a state may have come out of another by changes: of the same table, and not older; or both lists."""
    if isinstance(newer, DeltaPin) and isinstance(older, DeltaPin):
        return newer.table_id == older.table_id and newer.version >= older.version
    return newer.kind == older.kind


def _identity(pin: DeltaPin | FilesPin) -> tuple[str, int | str]:
    return (pin.table_id if isinstance(pin, DeltaPin) else pin.location, pin.digest)
