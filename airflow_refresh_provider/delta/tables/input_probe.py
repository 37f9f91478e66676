"""The input probe: what an input is now, whether a pinned state can still be read, and how large it is."""

from __future__ import annotations

from pathlib import Path

from deltalake import DeltaTable

from airflow_refresh_provider.core.changes.history import InputHistory, of_files
from airflow_refresh_provider.core.changes.pins import DeltaPin, FilesPin, Pin
from airflow_refresh_provider.core.changes.sources import ChangedRows, ChangeSource, FeedRows, FileTables, NewFiles
from airflow_refresh_provider.core.definition.inputs import Format, Input
from airflow_refresh_provider.core.definition.locations import read_otherwise
from airflow_refresh_provider.delta.storage.log_files import has_log, list_log
from airflow_refresh_provider.delta.storage.object_stores import is_local, storage
from airflow_refresh_provider.delta.tables.delta_table import open_table, plain_files, size_of
from airflow_refresh_provider.delta.tables.file_tables import lay_out
from airflow_refresh_provider.delta.tables.input_history import changed_files, history
from airflow_refresh_provider.delta.tables.parquet_files import count_rows, list_files, not_parquet
from airflow_refresh_provider.errors import Failed, Invalid, RefreshError
from airflow_refresh_provider.ports.table_log import LogGap


class DeltaInputProbe:
    """Inputs wherever they are; nothing is kept between calls."""

    def pin(self, name: str, input: Input) -> Pin:
        """What the input is now. Raises Invalid when it is missing or not what its format says."""
        match input.format:
            case Format.DELTA:
                return _pin_delta(name, input.path)
            case Format.PARQUET:
                return _pin_files(name, input.path)

    def unreadable(self, pin: Pin) -> str | None:
        """Why the pinned state cannot be read any more, None when it can."""
        with storage("reading an input", pin.location):
            return _lost_version(pin) if isinstance(pin, DeltaPin) else _changed_file(pin)

    def history(self, applied: Pin, newest: Pin) -> InputHistory | None:
        """What happened to an input after a state; None when that can no longer all be told."""
        if isinstance(applied, FilesPin) and isinstance(newest, FilesPin):
            return of_files(applied, newest)
        assert isinstance(applied, DeltaPin) and isinstance(newest, DeltaPin)
        return history(applied, newest)

    def changes(self, applied: Pin, newest: Pin, source: ChangeSource, folder: str) -> ChangedRows:
        """What is read of the changes in between."""
        if isinstance(applied, FilesPin) and isinstance(newest, FilesPin):
            return NewFiles(files=tuple(f.path for f in newest.new_files(applied)), before=applied)
        assert isinstance(applied, DeltaPin) and isinstance(newest, DeltaPin)
        match source:
            case ChangeSource.FEED:
                return FeedRows(first=applied.version + 1, upto=newest.version)
            case ChangeSource.FILES:
                return _file_tables(applied, newest, folder)

    def files(self, pin: Pin) -> tuple[tuple[str, int], ...] | None:
        """(path, size) of the plain files that make up exactly the pinned rows, None when no such list exists."""
        if isinstance(pin, FilesPin):
            return tuple((f.path, f.size) for f in pin.files)
        return plain_files(pin.location, pin.version)

    def rows(self, pin: Pin) -> int | None:
        """About how many rows; exact for Delta with statistics, estimated for files, None when unknown."""
        if pin.rows is not None or isinstance(pin, DeltaPin):
            return pin.rows
        with storage("reading an input", pin.location):
            return count_rows(pin.files)


def _file_tables(applied: DeltaPin, newest: DeltaPin, folder: str) -> FileTables:
    """The files that came and went, laid out below a folder."""
    location = newest.location
    table = open_table(location, newest.version)
    try:
        files = changed_files(applied, newest)
    except LogGap as gap:
        raise _forgotten(str(gap)) from None
    if table is None:
        raise _forgotten(f"{location} has no version {newest.version}")
    places = {name: f"{folder}/{name}" for name, some in (("went", files.went), ("came", files.came)) if some}
    for name, place in places.items():
        lay_out(table, location, files.went if name == "went" else files.came, place)
    return FileTables(went=places.get("went"), came=places.get("came"))


def _forgotten(what: str) -> Failed:
    return Failed(
        "input_missing",
        f"an input no longer tells what has changed: {what}",
        left="The target was not changed.",
        next="Run again with mode full.",
    )


def _pin_delta(name: str, path: str) -> DeltaPin:
    if list_log(path) is None:
        raise _no_table(name, path)
    if read_otherwise(path):
        raise Invalid(
            "input_place",
            f"the input {name} cannot be read at {path}: a backslash, or % before two hexadecimal digits, is another "
            "place to delta-rs",
            next="Move the table, or link to it, at a path without them.",
        )
    table = open_table(path)
    if table is None:
        raise _no_table(name, path)
    rows, size = size_of(table, path)
    return DeltaPin(location=path, table_id=str(table.metadata().id), version=table.version(), rows=rows, bytes=size)


def _pin_files(name: str, path: str) -> FilesPin:
    if has_log(path):
        raise Invalid(
            "input_is_delta",
            f"the input {name} at {path} is a Delta table, and its format says parquet",
            next="Leave `format` out, or write `format: delta`.",
        )
    with storage(f"reading the input {name}", path):
        found = list_files(path)
        if found is None:
            raise _missing(name, path, "a parquet file or a folder of them")
        if not found:
            raise Invalid(
                "input_empty",
                f"the input {name} at {path} is a folder without files (names that begin with _ or . do not count)",
                next="Put the files there, or correct the path.",
            )
        if wrong := not_parquet(found):
            raise Invalid(
                "input_not_parquet",
                f"the input {name} has a file that is not parquet: {wrong.path}",
                next="Move it elsewhere, or let its name begin with _ so that it does not count.",
            )
    return FilesPin(format="parquet", location=path, files=found)


def _no_table(name: str, path: str) -> Invalid:
    if has_log(path):
        return Invalid(
            "input_not_delta",
            f"the log of the input {name} at {path} has no commit files any more",
            next="Let a writer commit to the table once more, or restore the files of its log.",
        )
    with storage(f"reading the input {name}", path):
        found = list_files(path)
        if found is None:
            return _missing(name, path, "a Delta table")
        if found and not not_parquet(found[:1]):
            return Invalid(
                "input_is_parquet",
                f"the input {name} at {path} is plain parquet, and its format says delta",
                next="Write `format: parquet`.",
            )
    return Invalid(
        "input_not_delta",
        f"the input {name} at {path} is not a Delta table: there is no _delta_log in it",
        next="Correct the path, or write which `format` it has.",
    )


def _missing(name: str, path: str, wanted: str) -> Invalid:
    if is_local(path):
        parent = next(p for p in Path(path).parents if p.exists())
        hint = "" if parent == Path(path).parent else f" (there is {parent}, and nothing further)"
    else:
        hint = ""
    return Invalid(
        "input_missing",
        f"the input {name} is missing: no {wanted.removeprefix('a ')} at {path}{hint}",
        next="Correct the path in the definition, or put the data there.",
    )


def _lost_version(pin: DeltaPin) -> str | None:
    try:
        return _other_than(pin, open_table(pin.location, pin.version))
    except RefreshError:
        list_log(pin.location)  # raises where it is the storage that fails: the version is not lost for that
    try:
        return _other_than(pin, open_table(pin.location, pin.version))
    except RefreshError as error:
        return f"version {pin.version} of {pin.location} cannot be opened any more: {error.message}"


def _other_than(pin: DeltaPin, table: DeltaTable | None) -> str | None:
    """Why what was opened is not what was pinned."""
    if table is None and list_log(pin.location) is None:
        return f"there is no Delta table at {pin.location} any more"
    if table is None:
        return f"version {pin.version} of {pin.location} has been cleaned out of its log"
    if str(table.metadata().id) != pin.table_id:
        return f"{pin.location} is another table now"
    return None


def _changed_file(pin: FilesPin) -> str | None:
    there = {file.path: file for file in list_files(pin.location) or ()}
    for pinned in pin.files:
        found = there.get(pinned.path)
        if found is None:
            return f"{pinned.path} is gone"
        if found != pinned:
            return f"{pinned.path} has changed"
    return None
