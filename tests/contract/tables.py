"""Small Delta tables and parquet files for the log and input tests, written without Spark."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from arro3.core import Array, DataType, Field, Schema, Table
from deltalake import CommitProperties, Transaction, write_deltalake

_SCHEMA = Schema([Field("id", DataType.int64()), Field("_vnode", DataType.int64())])


def rows(*ids: int, vnode: int = 0) -> Table:
    return Table.from_arrays(
        [Array(list(ids), DataType.int64()), Array([vnode] * len(ids), DataType.int64())], schema=_SCHEMA
    )


def write(location: Path, data: Table, *, note: str | None = None, markers: dict[str, int] | None = None) -> None:
    """Append in one commit; markers by appId."""
    write_deltalake(
        location,
        data,
        mode="append",
        commit_properties=CommitProperties(
            custom_metadata={"userMetadata": note} if note else None,
            app_transactions=[Transaction(app_id, version) for app_id, version in (markers or {}).items()],
        ),
    )


def write_parquet(path: Path, count: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"id": list(range(count))}), path)
