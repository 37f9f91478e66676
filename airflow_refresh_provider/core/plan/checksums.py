"""Checksums of the published rows by bucket of the key: only rows of buckets that differ are then compared (ADR 77).

They pay for a definition whose refreshes compare everything and mostly find the rows that are there.
"""

from __future__ import annotations

from airflow_refresh_provider.core.text.stored import Stored

MOST_CHANGED = 0.02
"""Where refreshes change more than this share of the rows, nothing is won: too many buckets differ."""
_ROWS_OF_BUCKET = 8
"""At most, up to the largest number of buckets. With fewer, fewer rows are compared, and more checksums are kept."""
_MOST_BUCKETS = 1 << 22
"""A row of a bucket has some 13 bytes that cannot be compressed."""
_OUTGROWN = 4


class Checksums(Stored):
    """Those of the rows that a refresh has published: parquet files in a folder, with a row for each bucket.

    `entries` are the rows of the folder, `rows` those that the target has.
    """

    location: str
    buckets: int
    entries: int
    rows: int

    def suit(self, rows: int) -> bool:
        """Whether as many rows would be put into about as many buckets."""
        return buckets_for(rows) < _OUTGROWN * self.buckets


def buckets_for(rows: int) -> int:
    """Into how many buckets so many rows are put: a power of two."""
    return min(_MOST_BUCKETS, 1 << (rows // _ROWS_OF_BUCKET).bit_length())


def are_kept(changed: int, rows: int) -> bool:
    """Whether the checksums of a result with so many rows are worth keeping, by how many had changed."""
    return changed <= MOST_CHANGED * rows
