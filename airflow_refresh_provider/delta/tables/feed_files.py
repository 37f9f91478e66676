"""The change data feed of a Delta table as files, where no more than their rows has to be known.

Delta writes changed rows to files of the feed, unless a commit only added or removed whole data files, or marked rows
of data files as deleted. Spark reads a few such files as they are: it does not open the table, which takes several jobs
for its log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from deltalake import DeltaTable

from airflow_refresh_provider.core.changes.pins import DeltaPin
from airflow_refresh_provider.core.changes.reads import BASE_PATH, Read
from airflow_refresh_provider.core.changes.sources import FeedRows, SeparateRows
from airflow_refresh_provider.core.definition.columns import Columns
from airflow_refresh_provider.delta.storage.log_files import list_log
from airflow_refresh_provider.delta.tables.actions import ByKind, changing, grouped
from airflow_refresh_provider.delta.tables.column_types import column_types, quoted
from airflow_refresh_provider.delta.tables.delta_table import is_plain_path, stored_plainly
from airflow_refresh_provider.delta.tables.marked_rows import Marks, all_rows, marked_rows, own_names
from airflow_refresh_provider.delta.tables.opened_tables import EACH_TIME, OpenedTables
from airflow_refresh_provider.ports.table_log import LogGap

MOST_FILES = 32
"""Spark lists more paths than that by a job."""

_TYPE_OF_CHANGE = "_change_type STRING"


@dataclass
class _Window:
    """The files of the feed; of commits without any, the data files that went and came, and those with rows marked."""

    feed: list[Any] = field(default_factory=list)
    removed: list[Any] = field(default_factory=list)
    added: list[Any] = field(default_factory=list)
    marked: Marks = field(default_factory=Marks)

    def add(self, version: int, by_kind: ByKind) -> None:
        """One commit."""
        if feed := by_kind.get("cdc"):
            self.feed += feed
            return
        removed, added = ({str(f["path"]): f for f in changing(by_kind, kind)} for kind in ("remove", "add"))
        both = removed.keys() & added.keys()
        self.removed += (file for path, file in removed.items() if path not in both)
        self.added += (file for path, file in added.items() if path not in both)
        for path in sorted(both):
            self.marked.add(version, removed[path], added[path])

    def net(self) -> tuple[list[Any], list[Any]]:
        """The data files that went, and those that came: one that went and was restored did neither."""
        net = self._net()
        sides = ((-1, self.removed), (1, self.added))
        went, came = ({f["path"]: f for f in files if net[f["path"]] == sign} for sign, files in sides)
        return list(went.values()), list(came.values())

    def _net(self) -> Counter[str]:
        found = Counter(str(file["path"]) for file in self.added)
        found.subtract(str(file["path"]) for file in self.removed)
        return found

    @property
    def is_read_by_files(self) -> bool:
        """Whether the files say all of it, and are few."""
        files = (*self.feed, *self.removed, *self.added)
        plain = all(map(_plain, files)) and all(map(is_plain_path, self.marked.paths))
        once = all(abs(count) <= 1 for count in self._net().values())
        return plain and once and 0 < len(files) + len(self.marked.paths) <= MOST_FILES


def feed_files(applied: DeltaPin, newest: DeltaPin, tables: OpenedTables = EACH_TIME) -> FeedRows | SeparateRows | None:
    """The changed rows after one version up to another, None where the table has to say how its files are read.

    Raises LogGap.
    """
    table = tables.at(newest.location, newest.version)
    log = list_log(newest.location, since=applied.version)
    if log is None or table is None:
        raise LogGap(newest.location)
    if not stored_plainly(table):
        return None
    window = _Window()
    for version, actions in log.between(applied.version, newest.version):
        window.add(version, grouped(actions))
    return _reads(newest.location, window, table, tables) if window.is_read_by_files else None


def _reads(location: str, window: _Window, table: DeltaTable, tables: OpenedTables) -> FeedRows | SeparateRows | None:
    columns = column_types(table)
    went, came = window.net()
    removed, added = _read(location, went, columns), _read(location, came, columns)
    if window.marked.paths:
        found = marked_rows(location, window.marked, table, tables)
        whole = all_rows(went)
        if found is None or whole is None or found.keys() & whole.keys() or not own_names(found.keys() | whole.keys()):
            return None
        removed = _chosen(location, found | whole, columns)
    changed = _read(location, window.feed, columns, _TYPE_OF_CHANGE)
    if changed is None:
        return SeparateRows(removed=removed, added=added)
    return FeedRows(feed=changed, removed=removed, added=added)


def _plain(file: Any) -> bool:
    return not file.get("deletionVector") and is_plain_path(file["path"])


def _chosen(location: str, rows: dict[str, tuple[int, ...]], columns: Columns) -> Read | None:
    found = _read(location, [{"path": path} for path in rows], columns)
    return found and found.model_copy(update={"chosen": tuple(rows.values())})


def _read(location: str, files: Iterable[Any], columns: Columns, *more: str) -> Read | None:
    paths = tuple(f"{location}/{file['path']}" for file in files)
    if not paths:
        return None
    schema = ", ".join([*(f"{quoted(c.name)} {c.type}" for c in columns), *more])
    return Read(
        location=location,
        format="parquet",
        options={BASE_PATH: location},
        paths=paths,
        schema_text=schema,
        file_format="parquet",
    )
