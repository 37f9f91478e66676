"""Which tables are so small that a client rewrites them: Spark takes longer for a commit than for their rows.

Each change of such a table writes it again, and its files before stay until VACUUM. So the bound is on what a day of
changes leaves behind, too.
"""

from __future__ import annotations

import re

from airflow_refresh_provider.core.definition.columns import Columns

MOST_ROWS = 20_000
MOST_BYTES = 256 << 10

_PLAIN_TYPE = re.compile(
    r"boolean|tinyint|smallint|int|bigint|float|double|decimal\(\d+,\d+\)|string|binary|date|timestamp"
)
"""Types with one form in Parquet files. In others, such as nested ones, writers differ."""


def is_small(rows: int | None, bytes: int | None, columns: Columns) -> bool:
    """Whether a table has few rows, not none, in columns of plain types. Unknown numbers are large ones."""
    if not rows or bytes is None or rows > MOST_ROWS or bytes > MOST_BYTES:
        return False
    return all(_PLAIN_TYPE.fullmatch(c.type.lower()) for c in columns)
