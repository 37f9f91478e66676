"""Touched values of a few changed rows, found by the client in the files that have these (ADR 76).

Spark takes half a second for them, in several jobs.
"""

from __future__ import annotations

from airflow_refresh_provider.core.changes.reads import Read
from airflow_refresh_provider.core.changes.sources import ChangedRows, FeedRows
from airflow_refresh_provider.core.definition.columns import INTEGERS, Columns
from airflow_refresh_provider.core.maintain.changed import Values, chosen, held, net
from airflow_refresh_provider.core.maintain.plan import Route
from airflow_refresh_provider.ports.staging import StagedValues
from airflow_refresh_provider.ports.tasks import TouchTask
from airflow_refresh_provider.spark.acts import sql, touched_spans
from airflow_refresh_provider.spark.acts.changed_rows import KIND_OF_CHANGE, REMOVED

MOST_ROWS = 20_000
"""So many changed rows of a file list are read by the client."""


def values(task: TouchTask, routes: list[Route], files: StagedValues) -> set[Values] | None:
    """The values of the anchors, each once; None where Spark has to find them."""
    anchors = sql.key_columns(task.target.columns, task.maintenance.anchors)
    # Some texts are stored as NULL in partitions.
    simple = all(a.type in sql.LITERALS and a.name not in task.target.partition_by for a in anchors)
    if task.turned or task.by_partition or not simple:
        return None
    found: set[Values] = set()
    for name, changes in task.changes.items():
        used = task.maintenance.used.get(name, ())
        wanted = [route.own_columns(used) for route in routes if route.input == name]
        changed = _changed(changes, used, files) if used and None not in wanted else None
        if changed is None:
            return None
        for columns in filter(None, wanted):
            found |= chosen(changed, used, columns)
    return found if held(found, anchors) else None


def _changed(changes: ChangedRows, used: tuple[str, ...], files: StagedValues) -> list[Values] | None:
    """The columns that count, of the rows that changed: rows of files that came and went may be the same."""
    parts = (changes.removed, changes.added)
    if any(part and not _is_files(part) for part in parts):
        return None
    removed, added = (files.of_files(part.paths, used, MOST_ROWS, part.chosen) if part else [] for part in parts)
    of_feed = _of_feed(changes.feed, used, files) if isinstance(changes, FeedRows) else ([], [])
    if removed is None or added is None or of_feed is None:
        return None
    return net([*removed, *of_feed[0]], [*added, *of_feed[1]])


def _of_feed(feed: Read, used: tuple[str, ...], files: StagedValues) -> tuple[list[Values], list[Values]] | None:
    rows = files.of_files(feed.paths, (KIND_OF_CHANGE, *used), MOST_ROWS) if _is_files(feed) else None
    if rows is None:
        return None
    return [row[1:] for row in rows if row[0] in REMOVED], [row[1:] for row in rows if row[0] not in REMOVED]


def _is_files(read: Read) -> bool:
    """Whether files are read by their names, and have all columns themselves."""
    return read.format == "parquet" and bool(read.paths) and read.schema_text is not None and not read.deleted


def measured(found: set[Values], anchors: Columns) -> dict[str, int]:
    """What `touched_spans.measures` observes of them."""
    sizes = (touched_spans.size_of(value, a.type) for row in found for a, value in zip(anchors, row, strict=True))
    seen = {"values": len(found), "bytes": sum(sizes)}
    for n, anchor in enumerate(anchors):
        known = [row[n] for row in found if row[n] is not None]
        seen[f"nulls{n}"] = len(found) - len(known)
        if known and anchor.type in INTEGERS:
            seen |= {f"low{n}": min(known), f"high{n}": max(known)}
    return seen
