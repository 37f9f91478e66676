"""Inputs that are files of one format below a location, pinned by the list of these files."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path

from airflow_refresh_provider.core.changes.folders import DataFiles, MixedFolders, data_files
from airflow_refresh_provider.core.changes.listed import FilesOfPin
from airflow_refresh_provider.core.changes.pins import FilesPin, FileStamp, IgnoredFiles
from airflow_refresh_provider.core.definition.inputs import Input
from airflow_refresh_provider.delta.storage.file_lists import list_files
from airflow_refresh_provider.delta.storage.log_files import has_log
from airflow_refresh_provider.delta.storage.object_stores import is_local, storage
from airflow_refresh_provider.errors import Invalid

_PATTERN = re.compile(r"[*?\[{]")
"""What Spark takes for patterns. A path is one place, and may have such characters in its name."""


class ListedFiles(FilesOfPin, ABC):
    """What all formats of files have in common. `format` is also Spark's name of it."""

    format: str

    @abstractmethod
    def check(self, name: str, files: tuple[FileStamp, ...]) -> None:
        """Raise Invalid when one of the files does not have the format."""

    @abstractmethod
    def count(self, files: tuple[FileStamp, ...]) -> int | None:
        """About how many rows they have; None when unknown."""

    @abstractmethod
    def columns_in(self, file: FileStamp) -> dict[str, str]:
        """The columns in a file and their Spark types, "" where that is not known; none if it cannot be read."""

    def columns(self, pin: FilesPin) -> dict[str, str]:
        """The columns of a file, and those that its folders stand for, whose types Spark finds out."""
        if not pin.files:
            return {}
        with storage("reading an input", pin.location):
            found = self.columns_in(pin.files[0])
        folders = pin.files[0].path.removeprefix(pin.location).split("/")[:-1]
        return found | {name: "" for name, equals, _ in (part.partition("=") for part in folders) if equals}

    def pin(self, name: str, input: Input) -> FilesPin:
        """The list of files as it is now. Raises Invalid when there are none, or one has another format."""
        path = input.path
        if has_log(path):
            raise Invalid(
                "input_is_delta",
                f"the input {name} at {path} is a Delta table, and its format says {self.format}",
                next="Leave `format` out, or write `format: delta`.",
            )
        with storage(f"reading the input {name}", path):
            found = list_files(path)
            if found is None:
                raise missing(name, path, f"{self.format} file or folder of them")
            files = _data_files(name, path, found)
            self.check(name, files.read)
        return self._listed(path, files)

    def unreadable(self, pin: FilesPin) -> str | None:
        """The first pinned file that was changed or deleted, None when all are as they were."""
        with storage("reading an input", pin.location):
            there = {file.path: file for file in list_files(pin.location) or ()}
        for pinned in pin.files:
            found = there.get(pinned.path)
            if found is None:
                return f"{pinned.path} is gone"
            if found != pinned:
                return f"{pinned.path} has changed"
        return None

    def rows(self, pin: FilesPin) -> int | None:
        """About how many rows there are; None when unknown."""
        if pin.rows is not None:
            return pin.rows
        with storage("reading an input", pin.location):
            return self.count(pin.files)

    def watch(self, input: Input) -> Callable[[], str]:
        """The digest of the list of files. None of them is opened."""
        return lambda: self._state(input)

    def _state(self, input: Input) -> str:
        with storage("watching", input.path):
            found = list_files(input.path)
        if not found:
            return str(self.pin("", input).digest)  # raises what is wrong with the location
        return str(self._listed(input.path, _data_files("", input.path, found)).digest)

    def _listed(self, path: str, files: DataFiles) -> FilesPin:
        count = len(files.ignored)
        ignored = IgnoredFiles(count=count, example=min(file.path for file in files.ignored)) if count else None
        return FilesPin(format=self.format, location=path, files=files.read, ignored=ignored)


def _data_files(name: str, path: str, found: tuple[FileStamp, ...]) -> DataFiles:
    """The files that are read. Raises Invalid when there are none, or when they cannot be read together."""
    try:
        files = data_files(path, found)
    except MixedFolders as mixed:
        raise Invalid(
            "input_mixed",
            f"the input {name} at {path} {mixed}",
            next="Move the files that do not belong together into folders of their own, and read one of them.",
        ) from None
    if not files.read:
        raise Invalid(
            "input_empty",
            f"the input {name} at {path} is a folder without files that Spark reads: those whose names begin with _ or "
            ". do not count, nor those in subfolders that stand for no column",
            next="Put the files there, or correct the path.",
        )
    return files


def missing(name: str, path: str, wanted: str) -> Invalid:
    """The error about an input that is not there, with the part of its path that is."""
    hint = ""
    if is_local(path):
        parent = next(p for p in Path(path).parents if p.exists())
        hint = "" if parent == Path(path).parent else f" (there is {parent}, and nothing further)"
    is_pattern = _PATTERN.search(path)
    literal = "it is read as it is, without patterns: name one folder or file, or declare several inputs"
    return Invalid(
        "input_missing",
        f"the input {name} is missing: no {wanted} at {path}{hint}",
        next=f"Correct the path in the definition{f' ({literal})' if is_pattern else ''}, or put the data there.",
    )
