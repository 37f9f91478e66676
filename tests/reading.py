"""What a reader of a Delta table sees who is not Spark, deletion vectors heeded."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
from deltalake import DeltaTable, QueryBuilder

Seen = Counter[tuple[object, ...]]
"""Rows in no order; two that are equal are two."""


def read(location: Path | str, query: str, version: int | None = None) -> Seen:
    """What a query finds in a table, which goes by the name `found`."""
    reader = QueryBuilder().register("found", DeltaTable(str(location), version=version))
    rows = pa.table(reader.execute(query).read_all())
    return Counter(zip(*(rows[name].to_pylist() for name in rows.column_names), strict=True))
