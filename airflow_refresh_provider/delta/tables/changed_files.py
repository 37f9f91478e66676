"""The data files that were added to a Delta table and removed from it, summed up over commits.

Data files are immutable, so the rows of a file are identified by its path and its deletion vector. A commit changes the
rows of a table by those of the files it adds less those of the files it removes; a file that one commit adds and
another removes cancels out. Files that were only compacted (`dataChange` false) change no row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from airflow_refresh_provider.delta.tables.actions import ByKind, changing

File = dict[str, Any]
"""What a log says about a file."""

Key = tuple[str, str, int | None]
"""Path, and the deletion vector."""


@dataclass(frozen=True)
class ChangedFiles:
    """The files whose rows were removed, and those whose rows were added.

    `readable` is false where the log does not say enough to read them. `removed_at`: when the first of them was
    removed from the table, from when on its retention counts; None while all are in the table. `first_gone` is the path
    of that one.
    """

    removed: tuple[File, ...]
    added: tuple[File, ...]
    readable: bool
    removed_at: datetime | None
    first_gone: str | None = None

    @property
    def bytes(self) -> int:
        """What has to be read for all of them."""
        return sum(int(f.get("size") or 0) for f in (*self.removed, *self.added))


@dataclass
class FileSum:
    """Adds up commits, oldest first."""

    _net: Counter[Key] = field(default_factory=Counter)
    _files: dict[Key, File] = field(default_factory=dict)
    _removed: dict[Key, datetime] = field(default_factory=dict)

    def add(self, by_kind: ByKind, at: datetime) -> None:
        """One commit."""
        self._count(changing(by_kind, "add"), 1)
        self._count(changing(by_kind, "remove"), -1)
        for file in by_kind.get("remove", ()):
            self._removed.setdefault(_key(file), at)

    def total(self) -> ChangedFiles:
        """The files that do not cancel out."""
        left = {key: net for key, net in self._net.items() if net}
        removed = tuple(self._files[key] for key, net in left.items() if net < 0)
        added = tuple(self._files[key] for key, net in left.items() if net > 0)
        gone = sorted((self._removed[key], key[0]) for key in left if key in self._removed)
        return ChangedFiles(
            removed=removed,
            added=added,
            readable=all(abs(net) == 1 for net in left.values()) and all(map(_described, (*removed, *added))),
            removed_at=gone[0][0] if gone else None,
            first_gone=gone[0][1] if gone else None,
        )

    def _count(self, files: Iterable[File], by: int) -> None:
        for file in files:
            self._net[_key(file)] += by
            self._files[_key(file)] = file


def _key(file: File) -> Key:
    vector = file.get("deletionVector") or {}
    return file["path"], str(vector.get("pathOrInlineDv", "")), vector.get("offset")


def _described(file: File) -> bool:
    """Writers may leave out of a removal what was said when the file was added."""
    return file.get("size") is not None and file.get("partitionValues") is not None
