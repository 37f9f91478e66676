"""Folders of staged data: listed and removed, on a local disk or in an object store."""

from __future__ import annotations

import shutil
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

import obstore
from arro3.core import Table
from deltalake import DeltaTable, QueryBuilder

from airflow_refresh_provider.core.changes.reads import Positions
from airflow_refresh_provider.core.definition.columns import OP, VNODE
from airflow_refresh_provider.core.plan.plan import StagedTable
from airflow_refresh_provider.delta.storage.object_stores import UntypedErrors, is_local, open_store, storage
from airflow_refresh_provider.delta.tables import file_values, staged_files
from airflow_refresh_provider.delta.tables.delta_table import open_table, plain_files
from airflow_refresh_provider.ports.staging import Names

_COUNTED = f"SELECT {VNODE} AS vnode, {OP} AS op, count(*) AS rows FROM c GROUP BY {VNODE}, {OP}"
_TRIES = 3  # a statement that still runs may put files into a folder while it is emptied


class StagingFolders:
    """Folders by their full location."""

    def drop(self, location: str) -> None:
        """Remove a folder and everything in it; nothing happens when it is not there."""
        with storage("removing", location):
            if is_local(location):
                _drop_local(Path(location))
            else:
                _drop_objects(location)

    def has(self, staged: StagedTable) -> bool:
        """Whether the staged rows are there."""
        if staged.version is None:
            return bool(staged_files.files_in(staged.location))
        return open_table(staged.location) is not None

    def changes(self, staged: StagedTable) -> dict[tuple[int, str], int]:
        """How many rows of a staged change set there are of each (vnode, op)."""
        if staged.version is None:
            return staged_files.changes_in(staged.location)
        doing = "counting staged changes"
        with storage(doing, staged.location), UntypedErrors(doing, staged.location):
            table = DeltaTable(staged.location, version=staged.version)
            found = QueryBuilder().register("c", table).execute(_COUNTED).read_all()
        vnodes, ops, rows = (found[name].to_pylist() for name in ("vnode", "op", "rows"))
        return {(int(vnode), str(op)): int(count) for vnode, op, count in zip(vnodes, ops, rows, strict=True)}

    def files(self, staged: StagedTable) -> tuple[str, ...] | None:
        """The plain parquet files that hold exactly the staged rows, None when no such list exists."""
        if staged.version is None:
            return tuple(file.path for file in staged_files.files_in(staged.location))
        found = plain_files(staged.location, staged.version)
        return None if found is None else tuple(path for path, _size in found)

    def rows(self, folder: str) -> int:
        """How many rows the plain parquet files of a folder have."""
        return staged_files.rows_of(folder)

    def span(self, staged: StagedTable, column: str) -> tuple[int, int] | None:
        """The smallest and the largest value of an integer column, None when there are no statistics of it."""
        if staged.version is None:
            return staged_files.span_in(staged.location, column)
        with storage("reading the statistics of staged changes", staged.location):
            files = DeltaTable(staged.location, version=staged.version).get_add_actions(flatten=True)
        lowest, highest = (_statistics(files, f"{which}.{column}") for which in ("min", "max"))
        if not lowest or not highest or None in (*lowest, *highest):
            return None
        return min(lowest), max(highest)

    def values(self, folder: str, columns: tuple[str, ...], most: int) -> list[tuple[Any, ...]] | None:
        """Some columns of all rows in a folder of plain parquet files; None for more than `most` rows or many files."""
        return staged_files.values_in(folder, columns, most)

    def of_files(self, files: Names, columns: Names, most: int, chosen: Positions = ()) -> list[tuple[Any, ...]] | None:
        """Some columns of all rows in plain parquet files, or of some; None where Spark has to read them."""
        return file_values.values_of(files, columns, most, chosen)

    def stage(self, folder: str, types: tuple[str, ...], rows: Collection[tuple[Any, ...]]) -> None:
        """Write rows to a folder, in columns k0, k1, ... of these types."""
        staged_files.put_values(folder, types, rows)

    def runs(self, root: str) -> tuple[str, ...]:
        """The run folders below a staging root, by full location."""
        with storage("listing staging", root):
            store = open_store(root)
            if store is None:
                return ()
            listed = obstore.list_with_delimiter(store)["common_prefixes"]
            names = sorted({str(path).rstrip("/").rpartition("/")[2] for path in listed})
        return tuple(f"{root}/{name}" for name in names if is_local(root) or _holds_any(f"{root}/{name}"))


def _statistics(files: Table, name: str) -> list[Any]:
    return list(files[name].to_pylist()) if name in files.column_names else []


def _drop_local(folder: Path) -> None:
    for _ in range(_TRIES):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
    shutil.rmtree(folder)


def _drop_objects(location: str) -> None:
    store = open_store(location)
    if store is not None:
        for batch in obstore.list(store):
            obstore.delete(store, [str(o["path"]) for o in batch if o["size"]])
            for empty in (str(o["path"]) for o in batch if not o["size"]):
                with suppress(FileNotFoundError):  # the mark of a folder, whose name cannot be said here
                    obstore.delete(store, empty)


def _holds_any(location: str) -> bool:
    """Whether there is more than the empty objects that some tools leave behind of folders."""
    store = open_store(location)
    return store is not None and any(o["size"] for batch in obstore.list(store) for o in batch)
