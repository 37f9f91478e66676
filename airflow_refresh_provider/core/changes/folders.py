"""Which files of a folder are its data: those that `spark.read` reads when it is given the folder.

- Subfolders like `day=1` stand for columns. Files in them, however deep, are read, and files beside them are not.
- Where there are no such subfolders, the files in the folder itself are read, and those in subfolders are not.
- Subfolders that do not stand for the same columns are refused, as Spark refuses them.
- Empty files are not read.
"""

from __future__ import annotations

from dataclasses import dataclass

from airflow_refresh_provider.core.changes.pins import FileStamp


class MixedFolders(Exception):
    """Why the subfolders of a folder cannot be read together, in words that follow its name."""


@dataclass(frozen=True)
class DataFiles:
    """The files that are read, and those that are not."""

    read: tuple[FileStamp, ...]
    ignored: tuple[FileStamp, ...]


def data_files(location: str, files: tuple[FileStamp, ...]) -> DataFiles:
    """Which files of a folder, or of a single file, are read. Raises MixedFolders."""
    folders = {folder: _partition(folder) for folder in {_folder(file, location) for file in files}}
    columns = {folder: found for folder, found in folders.items() if found.columns}
    if columns:
        _check_alike(folders)
        kept = set(columns)
    else:
        kept = {""}
    read = tuple(file for file in files if file.size and _folder(file, location) in kept)
    known = set(read)
    return DataFiles(read, tuple(file for file in files if file not in known))


@dataclass(frozen=True)
class _Partition:
    """The columns that a folder stands for, and the folder below which they begin."""

    columns: tuple[str, ...]
    base: str


def _folder(file: FileStamp, location: str) -> str:
    """Where a file lies, relative to the location; empty for a file that lies there, or is the location."""
    return file.path.removeprefix(location).strip("/").rpartition("/")[0]


def _partition(folder: str) -> _Partition:
    """As Spark looks at a folder: from its end up to the first name that stands for no column, once one does."""
    parts = folder.split("/") if folder else []
    end = len(parts)
    while end and "=" not in parts[end - 1]:
        end -= 1
    start = end
    while start and "=" in parts[start - 1]:
        start -= 1
    columns = tuple(part.partition("=")[0].lower() for part in parts[start:end])
    return _Partition(columns, "/".join(parts[:start]) if columns else folder)


def _check_alike(folders: dict[str, _Partition]) -> None:
    bases = sorted({found.base for found in folders.values()}, key=str.lower)
    if len({base.lower() for base in bases}) > 1:
        some = " and ".join(_shown(base) for base in bases[:2])
        raise MixedFolders(f"has subfolders that stand for columns, and files elsewhere: below {some}")
    for folder, partition in sorted(folders.items()):
        if len(set(partition.columns)) < len(partition.columns):
            raise MixedFolders(f"has a subfolder that stands for one column twice: {folder}")
    found = {partition.columns: folder for folder, partition in sorted(folders.items()) if partition.columns}
    if len(found) > 1:
        first, second = list(found.values())[:2]
        raise MixedFolders(f"has subfolders that stand for different columns: {first} and {second}")


def _shown(folder: str) -> str:
    return folder or "the folder itself"
