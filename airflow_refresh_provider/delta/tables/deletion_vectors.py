"""Rows that deletion vectors hide: how many, and where. Of tables that have the feature."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from airflow_refresh_provider.delta.storage.log_files import checksum, commit

_NEAR = 8
"""So many commits are read before the vectors are: a refresh without changes commits a seal alone."""


def hidden_rows(table: DeltaTable, location: str) -> int | None:
    """Rows of the version opened that are hidden; None where it cannot be found out."""
    stored = stored_hidden_rows(location, table.version())
    if stored is not None:
        return stored
    import pyarrow.compute as pc  # type: ignore[import-untyped]  # slow to import, and rarely needed

    try:
        return sum(len(kept) - (pc.sum(kept).as_py() or 0) for _, kept in _vectors(table))
    except DeltaError:
        return None  # a table feature of readers that delta-rs does not know


def stored_hidden_rows(location: str, version: int) -> int | None:
    """As Spark has stored it with a version, or with one before it since which no file was added or removed."""
    for near in range(version, max(-1, version - _NEAR), -1):
        stored = (checksum(location, near) or {}).get("numDeletedRecordsOpt")
        if isinstance(stored, int):
            return stored
        actions = commit(location, near)
        if actions is None or any("add" in action or "remove" in action for action in actions):
            return None
    return None


def hidden_positions(table: DeltaTable) -> dict[str, tuple[int, ...]] | None:
    """File name -> the positions of its hidden rows; None where delta-rs cannot read them."""
    import pyarrow.compute as pc  # slow to import, and rarely needed

    try:
        return {
            path.rpartition("/")[2]: tuple(pc.indices_nonzero(pc.invert(kept)).to_pylist())
            for path, kept in _vectors(table)
        }
    except DeltaError:
        return None  # a table feature of readers that delta-rs does not know


def _vectors(table: DeltaTable) -> Iterator[tuple[str, Any]]:
    """(path, whether each row is kept) of the files that have a vector."""
    import pyarrow as pa  # slow to import, and rarely needed

    for batch in pa.RecordBatchReader.from_stream(table.deletion_vectors()):
        yield from zip(batch["filepath"].to_pylist(), (kept.values for kept in batch["selection_vector"]), strict=True)
