"""The change data feed of a Delta table as files, where no more than their rows has to be known.

Delta writes changed rows to files of the feed, unless a commit only added or removed whole data files. Spark reads a
few such files as they are: it does not open the table, which takes several jobs for its log.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from airflow_refresh_provider.core.changes.pins import DeltaPin
from airflow_refresh_provider.core.changes.reads import BASE_PATH, Read
from airflow_refresh_provider.core.changes.sources import FeedRows, SeparateRows
from airflow_refresh_provider.core.definition.columns import Columns
from airflow_refresh_provider.delta.storage.log_files import list_log
from airflow_refresh_provider.delta.tables.actions import ByKind, changing, grouped
from airflow_refresh_provider.delta.tables.column_types import column_types, quoted
from airflow_refresh_provider.delta.tables.delta_table import is_plain_path, stored_plainly
from airflow_refresh_provider.delta.tables.opened_tables import EACH_TIME, OpenedTables
from airflow_refresh_provider.ports.table_log import LogGap

MOST_FILES = 32
"""Spark lists more paths than that by a job."""

_TYPE_OF_CHANGE = "_change_type STRING"


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
    found = [_files(grouped(actions)) for _, actions in log.between(applied.version, newest.version)]
    feed, removed, added = ([f for files in found for f in files[n]] for n in range(3))
    if not 0 < len(feed) + len(removed) + len(added) <= MOST_FILES or not all(map(_plain, (*feed, *removed, *added))):
        return None
    columns = column_types(table)
    went, came = _read(newest.location, removed, columns), _read(newest.location, added, columns)
    changed = _read(newest.location, feed, columns, _TYPE_OF_CHANGE)
    if changed is None:
        return SeparateRows(removed=went, added=came)
    return FeedRows(feed=changed, removed=went, added=came)


def _files(by_kind: ByKind) -> tuple[list[Any], list[Any], list[Any]]:
    """The files of the feed in a commit; or, if it has none, those it removed and those it added."""
    if feed := by_kind.get("cdc"):
        return feed, [], []
    return [], changing(by_kind, "remove"), changing(by_kind, "add")


def _plain(file: Any) -> bool:
    return not file.get("deletionVector") and is_plain_path(file["path"])


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
