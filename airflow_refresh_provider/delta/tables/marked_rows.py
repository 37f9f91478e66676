"""Rows that commits have marked as deleted in files that stay: a change data feed has no files of them (ADR 78)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from deltalake import DeltaTable

from airflow_refresh_provider.delta.tables.actions import rows_of
from airflow_refresh_provider.delta.tables.deletion_vectors import hidden_positions
from airflow_refresh_provider.delta.tables.delta_table import listed_files
from airflow_refresh_provider.delta.tables.opened_tables import OpenedTables
from airflow_refresh_provider.errors import RefreshError

MOST_COMMITS = 8
"""The table is opened before and after each."""
_MOST_ROWS = 20_000_000
"""Of the table: delta-rs holds a byte for each row of a file with a deletion vector."""
_MOST_MARKED = 100_000
"""So many positions are sent to Spark with a statement."""


@dataclass
class Marks:
    """The files that got another deletion vector: by version, how many rows each has lost."""

    of_version: dict[int, dict[str, int]] = field(default_factory=dict)

    def add(self, version: int, before: Any, after: Any) -> None:
        """A file as a commit has removed it and added it again."""
        rows = _cardinality(after) - _cardinality(before)
        self.of_version.setdefault(version, {})[str(after["path"])] = rows

    @property
    def paths(self) -> set[str]:
        """All of the files."""
        return {path for files in self.of_version.values() for path in files}

    @property
    def few(self) -> bool:
        """Whether the commits and the rows are few, each commit has only marked rows, and the files have own names."""
        rows = [count for files in self.of_version.values() for count in files.values()]
        return (
            own_names(self.paths)
            and len(self.of_version) <= MOST_COMMITS
            and min(rows) > 0
            and sum(rows) <= _MOST_MARKED
        )


def marked_rows(
    location: str, marks: Marks, table: DeltaTable, tables: OpenedTables
) -> dict[str, tuple[int, ...]] | None:
    """Path -> the positions of the rows that these commits have marked, in order; `table` is at the newest version.

    None where rows came back, where they are many, or where it cannot be found out.
    """
    if not marks.few or _rows(table) > _MOST_ROWS:
        return None

    @cache
    def hidden_in(version: int) -> dict[str, tuple[int, ...]] | None:
        try:
            found = table if version == table.version() else tables.at(location, version)
        except RefreshError:
            return None  # the version was cleaned up
        return None if found is None else hidden_positions(found)

    rows: dict[str, set[int]] = {}
    for version, files in marks.of_version.items():
        before, after = hidden_in(version - 1), hidden_in(version)
        if before is None or after is None:
            return None
        for path, count in files.items():
            then, now = set(before.get(_name(path), ())), set(after.get(_name(path), ()))
            if not then <= now or len(now) - len(then) != count:
                return None
            rows.setdefault(path, set()).update(now - then)
    return {path: tuple(sorted(positions)) for path, positions in rows.items()}


def all_rows(files: Iterable[Any]) -> dict[str, tuple[int, ...]] | None:
    """Path -> the positions of all rows, of files without deletion vectors; None where they are many, or not known."""
    counts = {str(file["path"]): rows_of(file) for file in files}
    if None in counts.values() or sum(count or 0 for count in counts.values()) > _MOST_MARKED:
        return None
    return {path: tuple(range(count or 0)) for path, count in counts.items()}


def own_names(paths: Collection[str]) -> bool:
    """Whether no two files in different folders have one name: rows are found by it."""
    return len({_name(path) for path in paths}) == len(paths)


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _cardinality(file: Any) -> int:
    return int((file.get("deletionVector") or {}).get("cardinality") or 0)


def _rows(table: DeltaTable) -> int:
    """Rows of all files; none of those of which the log does not say it."""
    files = listed_files(table)
    counts = files["num_records"].to_pylist() if "num_records" in files.column_names else ()
    return sum(int(count) for count in counts if count is not None)
