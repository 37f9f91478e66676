"""What one commit of a Delta log did, summed up from its actions."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from airflow_refresh_provider.core.definition.columns import VNODE
from airflow_refresh_provider.core.log.commits import Commit
from airflow_refresh_provider.delta.storage.log_files import Action
from airflow_refresh_provider.delta.tables.table_shape import TableShape

ByKind = dict[str, list[Any]]


def commit_of(version: int, by_kind: ByKind, before: TableShape | None) -> Commit:
    """The facts of one commit. Files that were only moved (`dataChange` false) count for nothing.

    `before` is the shape of the table at the version before, None when that is not known.
    """
    info = info_of(by_kind)
    added, removed = changing(by_kind, "add"), changing(by_kind, "remove")
    note = info.get("userMetadata")
    return Commit(
        version=version,
        operation=str(info.get("operation", "UNKNOWN")),
        txns=txns_of(by_kind.get("txn", ())),
        data_change=bool(added or removed),
        reshaped=may_reshape(by_kind) and (before is None or before.after(by_kind) != before),
        vnodes=_vnodes([*added, *removed]),
        net_rows=_net_rows(added, removed),
        bytes_added=_bytes_added(added, removed),
        note=note if isinstance(note, str) else None,
    )


def may_reshape(by_kind: ByKind) -> bool:
    """Whether a commit changes metadata or protocol."""
    return "metaData" in by_kind or "protocol" in by_kind


def grouped(actions: Iterable[Action]) -> ByKind:
    """The fields of the actions of a commit, by kind of action."""
    by_kind: ByKind = {}
    for action in actions:
        for kind, fields in action.items():
            by_kind.setdefault(kind, []).append(fields)
    return by_kind


def info_of(by_kind: ByKind) -> Any:
    """What a commit says about itself; nothing if its writer left that out."""
    return (by_kind.get("commitInfo") or [{}])[0]


def changing(by_kind: ByKind, kind: str) -> list[Any]:
    """The files that a commit added or removed and did not only move."""
    return [f for f in by_kind.get(kind, ()) if f.get("dataChange", True)]


def txns_of(txns: Iterable[Any]) -> dict[str, int]:
    """appId -> version, of the markers in a commit or a checksum."""
    return {str(t["appId"]): int(t["version"]) for t in txns}


def _vnodes(files: list[Any]) -> tuple[int, ...] | None:
    values = {(f.get("partitionValues") or {}).get(VNODE) for f in files}
    numbers = [int(v) for v in values if isinstance(v, str) and v.isdigit()]
    return tuple(sorted(numbers)) if len(numbers) == len(values) else None


def _net_rows(added: list[Any], removed: list[Any]) -> int | None:
    changes = [*((rows_of(f), 1) for f in added), *((rows_of(f), -1) for f in removed)]
    known = [rows * sign for rows, sign in changes if rows is not None]
    return sum(known) if len(known) == len(changes) else None


def rows_of(file: Any) -> int | None:
    """Rows of a file that a reader sees: those in it less those its deletion vector hides."""
    rows = json.loads(file.get("stats") or "{}").get("numRecords")
    hidden = (file.get("deletionVector") or {}).get("cardinality") or 0
    return rows - int(hidden) if isinstance(rows, int) else None


def _bytes_added(added: list[Any], removed: list[Any]) -> int:
    """A file that only got another deletion vector is removed and added again; it was not written."""
    before = {f["path"] for f in removed}
    return sum(int(f.get("size") or 0) for f in added if f["path"] not in before)
