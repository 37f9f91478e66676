"""The history of a Delta input, from its log: what each commit did, and how its changed rows can be read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from deltalake import DeltaTable

from airflow_refresh_provider.core.changes.history import InputCommit, InputHistory
from airflow_refresh_provider.core.changes.pins import DeltaPin
from airflow_refresh_provider.core.changes.sources import ChangeSource, ChangeSourceInfo
from airflow_refresh_provider.delta.storage.log_files import LogFiles, list_log
from airflow_refresh_provider.delta.tables.actions import ByKind, changing, grouped, info_of
from airflow_refresh_provider.delta.tables.changed_files import ChangedFiles, FileSum
from airflow_refresh_provider.delta.tables.changed_rows import changed_rows
from airflow_refresh_provider.delta.tables.marked_rows import MOST_COMMITS
from airflow_refresh_provider.delta.tables.opened_tables import EACH_TIME, OpenedTables
from airflow_refresh_provider.ports.table_log import LogGap

_FEED = "delta.enableChangeDataFeed"
REMOVED_FILES = "delta.deletedFileRetentionDuration"
KEPT = {REMOVED_FILES: timedelta(days=7), "delta.logRetentionDuration": timedelta(days=30)}
"""How long a table keeps removed files, and its log, by default."""

_UNITS = {
    "microsecond": timedelta(microseconds=1),
    "millisecond": timedelta(milliseconds=1),
    "second": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
}
_PART = re.compile(r"(\d+)\s+([a-z]+?)s?\b")


def history(applied: DeltaPin, newest: DeltaPin, tables: OpenedTables = EACH_TIME) -> InputHistory | None:
    """What happened after one version up to another; None when the log is incomplete."""
    log = list_log(newest.location, since=applied.version)
    now = _shape(log, newest, tables) if log else None
    if log is None or now is None:
        return None
    shapes = [now]
    commits = []
    feed = _Feed()
    files = FileSum()
    try:
        for version, actions in log.between(applied.version, newest.version):
            by_kind = grouped(actions)
            commits.append(_commit(log, version, by_kind))
            feed.add(by_kind)
            files.add(by_kind, commits[-1].at)
            shapes += (_Shape.written(metadata) for metadata in by_kind.get("metaData", ()))
        applied_at = committed_at(log, applied.version)
    except LogGap:
        return None
    if len(shapes) > 1:
        before = _shape(log, applied, tables)
        if before is None:
            return None
        shapes.append(before)
    return InputHistory(
        commits=tuple(commits),
        change_sources=tuple(_change_sources(log, commits, shapes, feed, files.total())),
        reshaped=any(shape.columns != shapes[0].columns for shape in shapes),
        applied_at=applied_at,
    )


def changed_files(applied: DeltaPin, newest: DeltaPin) -> ChangedFiles:
    """The files that were added and removed after one version up to another. Raises LogGap."""
    log = list_log(newest.location, since=applied.version)
    if log is None:
        raise LogGap(newest.location)
    files = FileSum()
    for version, actions in log.between(applied.version, newest.version):
        by_kind = grouped(actions)
        files.add(by_kind, _commit(log, version, by_kind).at)
    return files.total()


class _Shape:
    """What a table's metadata says about columns, feed and retention."""

    def __init__(self, properties: Mapping[str, str], schema: Any, partitioned_by: Iterable[str]) -> None:
        self.feed = str(properties.get(_FEED, "false")).lower() == "true"
        self.files_kept, self.log_kept = (duration(properties.get(name), default) for name, default in KEPT.items())
        self.columns = (schema["fields"], list(partitioned_by))

    @staticmethod
    def of(table: DeltaTable) -> _Shape:
        """The metadata of a table as it was opened."""
        about = table.metadata()
        return _Shape(about.configuration, json.loads(table.schema().to_json()), about.partition_columns)

    @staticmethod
    def written(metadata: Mapping[str, Any]) -> _Shape:
        """The metadata that a commit has written."""
        partitioned_by = metadata.get("partitionColumns") or ()
        return _Shape(metadata.get("configuration") or {}, json.loads(metadata["schemaString"]), partitioned_by)


def _shape(log: LogFiles, pin: DeltaPin, tables: OpenedTables) -> _Shape | None:
    """The metadata of a version: as Spark keeps it beside the commit, else of the table as it is opened."""
    kept = log.metadata(pin.version)
    if kept is not None:
        return _Shape.written(kept)
    table = tables.at(pin.location, pin.version)
    return _Shape.of(table) if table is not None else None


class _Feed:
    """What reading the change data feed costs, and the first of its files that a VACUUM deletes."""

    def __init__(self) -> None:
        self._whole = 0
        self._marked: list[dict[str, int]] = []
        self.first_gone: str | None = None

    @property
    def bytes(self) -> int:
        """What is read: a file of which several commits have marked rows once, where these are few, else for each."""
        marked = self._marked if len(self._marked) > MOST_COMMITS else [_all_of(self._marked)]
        return self._whole + sum(sum(files.values()) for files in marked)

    def add(self, by_kind: ByKind) -> None:
        """One commit."""
        feed, removed = by_kind.get("cdc"), {str(f["path"]) for f in changing(by_kind, "remove")}
        sizes = [(str(f["path"]), int(f.get("size") or 0)) for f in feed or _moved(by_kind)]
        # A file of which rows were marked as deleted is both removed and added.
        marked = {} if feed else {str(f["path"]): int(f.get("size") or 0) for f in changing(by_kind, "add")}
        marked = {path: size for path, size in marked.items() if path in removed}
        self._whole += sum(size for path, size in sizes if path not in marked)
        self._marked += [marked] if marked else []
        gone = by_kind.get("cdc") or changing(by_kind, "remove")
        self.first_gone = self.first_gone or next((str(f["path"]) for f in gone), None)


def _all_of(parts: Iterable[dict[str, int]]) -> dict[str, int]:
    return {path: size for part in parts for path, size in part.items()}


def _change_sources(
    log: LogFiles, commits: Sequence[InputCommit], shapes: Sequence[_Shape], feed: _Feed, files: ChangedFiles
) -> Iterator[ChangeSourceInfo]:
    """The feed is the better source: it has only the rows that changed. Files have unchanged rows too.

    The feed expires when the first file that was removed in its window may be deleted. Added files that are still in
    the table are not deleted; with these alone, the changed files expire with the log. A VACUUM may have been earlier,
    with a shorter retention: it deletes the oldest files first, so a source whose first one is gone has expired.
    """
    files_kept, log_kept = min(s.files_kept for s in shapes), min(s.log_kept for s in shapes)
    changed_at = next((c.at for c in commits if c.data_change), None)
    if all(shape.feed for shape in shapes):
        until = changed_at + min(files_kept, log_kept) if changed_at else None
        deleted = feed.first_gone is not None and not log.has_file(feed.first_gone)
        yield ChangeSourceInfo(source=ChangeSource.FEED, bytes=feed.bytes, expires_at=changed_at if deleted else until)
    if files.readable:
        ends = [commits[0].at + log_kept] if commits else []
        if files.removed_at and files.first_gone:
            deleted = not log.has_file(files.first_gone)
            ends.append(files.removed_at if deleted else files.removed_at + files_kept)
        yield ChangeSourceInfo(source=ChangeSource.FILES, bytes=files.bytes, expires_at=min(ends, default=None))


def committed_at(log: LogFiles, version: int) -> datetime | None:
    """When a version was committed; None when its commit file is gone."""
    return _commit(log, version, grouped(log.actions(version))).at if version in log.commits else None


def _commit(log: LogFiles, version: int, by_kind: ByKind) -> InputCommit:
    info = info_of(by_kind)
    stamp = info.get("inCommitTimestamp") or info.get("timestamp")
    return InputCommit(
        version=version,
        at=datetime.fromtimestamp(stamp / 1000, UTC) if isinstance(stamp, int) else log.commits[version].at,
        operation=str(info.get("operation", "UNKNOWN")),
        data_change=bool(_moved(by_kind) or by_kind.get("cdc")),
        adds_only=not (changing(by_kind, "remove") or by_kind.get("cdc")),
        rows=changed_rows(by_kind),
    )


def _moved(by_kind: ByKind) -> list[Any]:
    """The added and the removed files."""
    return [*changing(by_kind, "add"), *changing(by_kind, "remove")]


def duration(text: str | None, default: timedelta) -> timedelta:
    """`interval 7 days` and the like; a text that cannot be read counts as nothing kept."""
    if text is None:
        return default
    parts = _PART.findall(text.lower().removeprefix("interval"))
    return sum((int(count) * _UNITS.get(unit, timedelta(0)) for count, unit in parts), timedelta(0))
