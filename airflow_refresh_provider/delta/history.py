"""The history of a Delta input, from the files of its log: what each commit did, and whether the feed was kept."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow_refresh_provider.core.changes import Means, Telling
from airflow_refresh_provider.core.history import InputCommit, InputHistory
from airflow_refresh_provider.core.pins import DeltaPin
from airflow_refresh_provider.delta.commits import ByKind, changing, grouped, info_of
from airflow_refresh_provider.delta.log_files import LogFiles, list_log
from airflow_refresh_provider.delta.tables import open_table
from airflow_refresh_provider.ports.log import LogGap

_FEED = "delta.enableChangeDataFeed"
_KEPT = {"delta.deletedFileRetentionDuration": timedelta(days=7), "delta.logRetentionDuration": timedelta(days=30)}
"""How long a table keeps removed files and its log, by default."""

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


def history(applied: DeltaPin, newest: DeltaPin) -> InputHistory | None:
    """What happened after one version up to another; None when the log no longer tells all of it."""
    log = list_log(newest.location)
    now = open_table(newest.location, newest.version)
    if log is None or now is None:
        return None
    about = now.metadata()
    shapes = [_Shape(about.configuration, json.loads(now.schema().to_json()))]
    commits = []
    feed_bytes = 0
    try:
        for version in range(applied.version + 1, newest.version + 1):
            actions = log.actions(version)
            by_kind = grouped(actions)
            commits.append(_commit(log, version, by_kind))
            feed_bytes += sum(int(f.get("size") or 0) for f in by_kind.get("cdc") or _moved(by_kind))
            shapes += (_shape_of(a["metaData"]) for a in actions if "metaData" in a)
    except LogGap:
        return None
    if len(shapes) > 1:
        before = open_table(applied.location, applied.version)
        if before is None:
            return None
        shapes.append(_Shape(before.metadata().configuration, json.loads(before.schema().to_json())))
    changed_at = next((c.at for c in commits if c.data_change), None)
    kept_for = min(shape.kept_for for shape in shapes)
    feed = Telling(means=Means.FEED, bytes=feed_bytes, until=changed_at + kept_for if changed_at else None)
    return InputHistory(
        commits=tuple(commits),
        tellings=(feed,) if all(shape.feed for shape in shapes) else (),
        reshaped=any(shape.columns != shapes[0].columns for shape in shapes),
        applied_at=_commit(log, applied.version, grouped(log.actions(applied.version))).at
        if applied.version in log.commits
        else None,
    )


class _Shape:
    """What a table's metadata says about columns, feed and retention."""

    def __init__(self, properties: Mapping[str, str], schema: Any) -> None:
        self.feed = str(properties.get(_FEED, "false")).lower() == "true"
        self.kept_for = min(_duration(properties.get(name), default) for name, default in _KEPT.items())
        self.columns = schema["fields"]


def _shape_of(metadata: Mapping[str, Any]) -> _Shape:
    return _Shape(metadata.get("configuration") or {}, json.loads(metadata["schemaString"]))


def _commit(log: LogFiles, version: int, by_kind: ByKind) -> InputCommit:
    info = info_of(by_kind)
    stamp = info.get("inCommitTimestamp") or info.get("timestamp")
    return InputCommit(
        version=version,
        at=datetime.fromtimestamp(stamp / 1000, UTC) if isinstance(stamp, int) else log.commits[version],
        operation=str(info.get("operation", "UNKNOWN")),
        data_change=bool(_moved(by_kind) or by_kind.get("cdc")),
    )


def _moved(by_kind: ByKind) -> list[Any]:
    """The files that came and those that went."""
    return [*changing(by_kind, "add"), *changing(by_kind, "remove")]


def _duration(text: str | None, default: timedelta) -> timedelta:
    """`interval 7 days` and the like; a text that cannot be read counts as nothing kept."""
    if text is None:
        return default
    parts = _PART.findall(text.lower().removeprefix("interval"))
    return sum((int(count) * _UNITS.get(unit, timedelta(0)) for count, unit in parts), timedelta(0))
