"""How many rows a commit has changed: as its writer says, else by the rows of its files.

Spark and delta-rs count the rows that they update, delete and merge; a file may have others beside them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from airflow_refresh_provider.delta.tables.actions import ByKind, changing, info_of, rows_of

_COUNTED = {
    "UPDATE": (("numUpdatedRows",), ("num_updated_rows",)),
    "DELETE": (("numDeletedRows",), ("num_deleted_rows",)),
    "MERGE": (
        ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted"),
        ("num_target_rows_inserted", "num_target_rows_updated", "num_target_rows_deleted"),
    ),
}
"""By operation, the metrics of Spark and of delta-rs that add up to the rows changed."""


def changed_rows(by_kind: ByKind) -> int | None:
    """About how many rows were inserted, updated or deleted; None where that is not known.

    An updated row counts once where the writer says it; by files, the rows that came count, or those that went.
    """
    info = info_of(by_kind)
    metrics = info.get("operationMetrics") or {}
    for names in _COUNTED.get(str(info.get("operation")), ()):
        if (counted := _sum(metrics.get(name) for name in names)) is not None:
            return counted
    if by_kind.get("cdc"):
        return None
    return _by_files(changing(by_kind, "add"), changing(by_kind, "remove"))


def _by_files(added: Iterable[Any], removed: Iterable[Any]) -> int | None:
    """A file that was removed and added again got another deletion vector."""
    now, before = ({str(file["path"]): rows_of(file) for file in files} for files in (added, removed))
    if None in now.values() or None in before.values():
        return None
    gained = [(now.get(path) or 0) - (before.get(path) or 0) for path in now.keys() | before.keys()]
    return max(sum(n for n in gained if n > 0), -sum(n for n in gained if n < 0))


def _sum(values: Iterable[Any]) -> int | None:
    """Metrics are numbers, or texts of numbers."""
    found = [str(value) for value in values]
    return sum(map(int, found)) if all(map(str.isdigit, found)) else None
