"""Checksums of rows by bucket of the key, on plain dicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from airflow_refresh_provider.core.definition.columns import ROW_HASH
from airflow_refresh_provider.core.plan.checksums import Checksums
from airflow_refresh_provider.ports.tasks import ChecksumTask
from airflow_refresh_provider.testing.memory_lake import MemoryLake
from airflow_refresh_provider.testing.memory_rows import Keys, hashed, key_of
from airflow_refresh_provider.testing.memory_table import Row, Rows


def checksums(
    lake: MemoryLake, wanted: ChecksumTask, desired: Rows, keys: Keys
) -> tuple[Checksums, Callable[[Row], bool]]:
    """Put those of the desired rows into the lake; and whether a row is in a bucket that differs from the known one."""

    def bucket_of(row: Mapping[str, object]) -> int:
        return hashed(key_of(row, keys)) % wanted.buckets

    found: dict[int, tuple[int, int]] = {}
    for row in desired:
        total, count = found.get(bucket_of(row), (0, 0))
        found[bucket_of(row)] = total ^ row[ROW_HASH], count + 1
    lake.step(f"create {wanted.location}")
    with lake.lock:
        rows = tuple({"bucket": bucket, "sum": total, "rows": count} for bucket, (total, count) in found.items())
        lake.create(wanted.location, (), rows)
    made = Checksums(location=wanted.location, buckets=wanted.buckets, entries=len(found), rows=len(desired))
    if wanted.known is None:
        return made, lambda _row: True
    known = {row["bucket"]: (row["sum"], row["rows"]) for row in lake.rows(wanted.known.location)}
    return made, lambda row: found.get(bucket_of(row)) != known.get(bucket_of(row))
