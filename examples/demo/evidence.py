"""Evidence for the demo's guarantees, found without the tool: the table itself, and its Delta log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession


@dataclass(frozen=True)
class Written:
    """Rows that commits put into new data files, and rows they marked as gone in old ones."""

    commits: int
    into_new_files: int
    marked_gone: int


@contextmanager
def spark_at(url: str) -> Iterator[SparkSession]:
    """A session of the demo's own on the embedded server."""
    from pyspark.sql.connect.session import SparkSession

    session = SparkSession.builder.remote(url).create()
    try:
        yield session
    finally:
        session.stop()


def differing(spark: SparkSession, one: str, other: str) -> int:
    """Rows of one query's result that the other's lacks, duplicates counted."""
    return spark.sql(f"({one}) EXCEPT ALL ({other})").count()


def newest_version(table: Path) -> int:
    """The newest version in a table's log."""
    return max(int(p.stem) for p in (table / "_delta_log").glob("*.json") if p.stem.isdecimal())


def written(table: Path, after: int) -> Written:
    """What the commits after a version wrote, from their actions alone."""
    live = _files(table, upto=after)
    commits = new = gone = 0
    for version in range(after + 1, newest_version(table) + 1):
        removed, added = _actions(table, version)
        commits += bool(added or removed)
        for path in removed - added.keys():
            gone += live[path].rows - live[path].gone
        for path, file in added.items():
            if path in live:
                gone += file.gone - live[path].gone
            else:
                new += file.rows
        live = {path: file for path, file in live.items() if path not in removed} | added
    return Written(commits, new, gone)


@dataclass(frozen=True)
class _File:
    rows: int
    gone: int


def _files(table: Path, upto: int) -> dict[str, _File]:
    live: dict[str, _File] = {}
    for version in range(upto + 1):
        removed, added = _actions(table, version)
        live = {path: file for path, file in live.items() if path not in removed} | added
    return live


def _actions(table: Path, version: int) -> tuple[set[str], dict[str, _File]]:
    """Paths removed, and files added, by one commit. A file whose deletion vector grew is both."""
    removed: set[str] = set()
    added: dict[str, _File] = {}
    for text in (table / "_delta_log" / f"{version:020}.json").read_text(encoding="utf-8").splitlines():
        action = json.loads(text)
        if remove := action.get("remove"):
            removed.add(remove["path"])
        if add := action.get("add"):
            rows = json.loads(add["stats"])["numRecords"]
            added[add["path"]] = _File(rows, (add.get("deletionVector") or {}).get("cardinality", 0))
    return removed, added
