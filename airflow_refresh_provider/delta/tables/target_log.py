"""The table log port: identity and shape of a table through delta-rs, commits and markers from the log's own files."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import obstore
from deltalake import DeltaTable

from airflow_refresh_provider.core.changes.reads import Read
from airflow_refresh_provider.core.log.commits import Commit
from airflow_refresh_provider.core.log.marker import app_ids
from airflow_refresh_provider.delta.storage.log_files import Action, LogFiles, list_log, recent_log
from airflow_refresh_provider.delta.storage.object_stores import file_in_the_way, open_store, storage
from airflow_refresh_provider.delta.tables.actions import commit_of, grouped, may_reshape, txns_of
from airflow_refresh_provider.delta.tables.column_types import column_types
from airflow_refresh_provider.delta.tables.delta_table import (
    features,
    floating_columns,
    listed_files,
    open_table,
    own_columns,
    padded_columns,
    partitions_of,
    reader_features,
    size_of,
    writes_plainly,
)
from airflow_refresh_provider.delta.tables.file_spans import sizes_within
from airflow_refresh_provider.delta.tables.files_within import few_files, files_within
from airflow_refresh_provider.delta.tables.input_history import KEPT, REMOVED_FILES, committed_at, duration
from airflow_refresh_provider.delta.tables.opened_tables import EACH_TIME, OpenedTables
from airflow_refresh_provider.delta.tables.table_shape import shape_at
from airflow_refresh_provider.errors import Failed
from airflow_refresh_provider.ports.table_log import LogGap, Opened, SpansOf, TableFacts, TableIdentity

_NEAR = 32
"""So many commits are read before the table is opened: with its checkpoints, every 20 commits, Spark keeps sums."""


class DeltaTableLog:
    """Logs of tables wherever they are; nothing is kept between calls, but in `keeping`."""

    def __init__(self, tables: OpenedTables = EACH_TIME) -> None:
        self._tables = tables

    def keeping(self, opened: Opened) -> DeltaTableLog:
        """The log at one moment."""
        return DeltaTableLog(self._tables.keeping(opened))

    def facts(self, location: str) -> TableFacts | None:
        """A table at its newest version, None when there is none. Raises Failed when something else is there."""
        table = self._tables.at(location)
        if table is None:
            _check_vacant(location)
            return None
        return facts_of(table, location)

    def identity(self, location: str) -> TableIdentity | None:
        """Which table it is, None when there is none. Raises Failed when something else is there.

        By the table where it is open, or the metadata that Spark keeps beside one of its newest commits; else it is
        opened.
        """
        log = None if self._tables.has(location) else recent_log(location)
        kept = _metadata(log) if log else None
        if kept is not None:
            properties = kept.get("configuration") or {}
            return TableIdentity(location=location, table_id=str(kept["id"]), properties=properties)
        table = self._tables.at(location)
        if table is None:
            _check_vacant(location)
            return None
        about = table.metadata()
        return TableIdentity(location=location, table_id=str(about.id), properties=dict(about.configuration))

    def newest(self, location: str) -> int:
        """The newest version. Raises Failed when there is no table."""
        return _there(recent_log(location), location).newest

    def oldest(self, location: str) -> int:
        """The oldest version whose commit file is still there without a gap up to the newest."""
        return _log(location).oldest

    def sizes_within(
        self, location: str, version: int, column: str, spans: Sequence[tuple[int, int]]
    ) -> tuple[int, int]:
        """The size of the files that may have values of a column within the spans, and of all files of a version."""
        table = self._tables.at(location, version)
        return (0, 0) if table is None else sizes_within(table, column, spans)

    def files_within(self, location: str, version: int, ways: Sequence[SpansOf]) -> Read | None:
        """The files of a version that may have rows within the spans of all columns of one of the ways."""
        table = self._tables.at(location, version)
        return None if table is None else files_within(table, location, ways)

    def few_files(self, location: str, version: int, *, deleted: bool) -> Read | None:
        """All files of a version, where they are few."""
        table = self._tables.at(location, version)
        return None if table is None else few_files(table, location, deleted=deleted)

    def readable_until(self, location: str, version: int) -> datetime | None:
        """When Spark begins to refuse a version; in 1970 where its commit is gone, None for the newest."""
        log = _log(location, since=version)
        table = None if version == log.newest else self._tables.at(location)
        if table is None:
            return None
        kept = duration(table.metadata().configuration.get(REMOVED_FILES), KEPT[REMOVED_FILES])
        committed = committed_at(log, version)
        return committed + kept if committed else datetime.fromtimestamp(0, UTC)

    def markers(self, location: str) -> dict[str, int]:
        """appId -> newest txnVersion.

        Read back from the newest commit to the first checksum that lists them all, or to the table's beginning. When
        neither is near, only the appIds that targets use are looked up: delta-rs writes no checksums.
        """
        found, complete = _markers(_there(recent_log(location), location))
        return found if complete else {**_known_markers(location), **found}

    def commits(self, location: str, after: int, upto: int | None = None) -> tuple[Commit, ...]:
        """The commits of (after, upto], oldest first; upto None = newest. Raises LogGap."""
        log = _log(location, since=after)
        last = log.newest if upto is None else upto
        found = [(version, grouped(actions)) for version, actions in log.between(after, last)]
        reshaping = any(may_reshape(by_kind) for _, by_kind in found)
        shape = shape_at(log, after) if reshaping else None
        commits = []
        for version, by_kind in found:
            commits.append(commit_of(version, by_kind, shape))
            shape = shape.after(by_kind) if shape else None
        return tuple(commits)


def facts_of(table: DeltaTable, location: str) -> TableFacts:
    """A table at the version that was opened."""
    about, files = table.metadata(), listed_files(table)
    rows, size = size_of(table, location, files)
    return TableFacts(
        location=location,
        table_id=str(about.id),
        version=table.version(),
        properties=dict(about.configuration),
        partitioned_by=tuple(about.partition_columns),
        partitions=partitions_of(files),
        clustered="clustering" in features(table),
        columns=tuple(field.name for field in table.schema().fields),
        types=column_types(table),
        padded=padded_columns(table),
        reader_features=reader_features(table),
        plain=writes_plainly(table),
        floating=floating_columns(table),
        own=own_columns(table),
        rows=rows,
        bytes=size,
    )


def _log(location: str, since: int = 0) -> LogFiles:
    """The log from a version on, or all of it where that is beyond its end."""
    return _there(list_log(location, max(0, since)) or (list_log(location) if since > 0 else None), location)


def _there(found: LogFiles | None, location: str) -> LogFiles:
    if found is None:
        raise Failed(
            "table_missing",
            f"there is no Delta table at {location} any more",
            left="Nothing was changed.",
            next="Find out who removed or moved it; the next run creates the target again, or compares what is there.",
        )
    return found


def _metadata(log: LogFiles) -> Action | None:
    """The newest metadata, where it is kept beside a commit that is near, or is in one."""
    for version in range(log.newest, max(-1, log.newest - _NEAR), -1):
        if kept := log.metadata(version):
            return kept
        try:
            by_kind = grouped(log.actions(version))
        except LogGap:
            return None
        if changed := by_kind.get("metaData"):
            newest: Action = changed[-1]
            return newest
    return None


def _markers(log: LogFiles) -> tuple[dict[str, int], bool]:
    """The markers of the newest commits, and whether these are all."""
    found: dict[str, int] = {}
    for version in range(log.newest, max(-1, log.newest - _NEAR), -1):
        stored = (log.checksum(version) or {}).get("setTransactions")
        if stored is not None:
            return {**txns_of(stored), **found}, True
        try:
            found = {**log.transactions(version), **found}
        except LogGap:
            return found, False
    return found, log.newest < _NEAR


def _known_markers(location: str) -> dict[str, int]:
    table = open_table(location)
    if table is None:
        return {}
    ours = {app_id: table.transaction_version(app_id) for app_id in app_ids(str(table.metadata().id))}
    return {app_id: version for app_id, version in ours.items() if version is not None}


def _check_vacant(location: str) -> None:
    """A folder that is empty, or has a log without a commit (a table whose making was cut short), is no table."""
    with storage("looking at", location):
        store = open_store(location)
        if store is None:
            if why := file_in_the_way(location):
                raise _occupied(location, why)
            return
        listed = obstore.list_with_delimiter(store)
    folders = {str(path).rstrip("/").rpartition("/")[2] for path in listed["common_prefixes"]}
    files = [o for o in listed["objects"] if o["size"]]  # far away a folder may be an empty object
    if "_delta_log" not in folders and (folders or files):
        raise _occupied(location, "holds files that are not a Delta table")


def _occupied(location: str, why: str) -> Failed:
    return Failed(
        "not_a_table",
        f"{location} {why}",
        left="Nothing was changed.",
        next="Give another location, or move away what is there.",
    )
