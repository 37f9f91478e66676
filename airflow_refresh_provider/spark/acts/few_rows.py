"""What makes Spark faster with few rows: projections that are interpreted.

For every projection of every task Spark writes Java code, only to find that it has compiled it before; writing it took
a quarter of the processor time of small refreshes. The setting also ends whole-stage code generation, without which
large tables are read several times slower: it is for statements that read little.
"""

from __future__ import annotations

_MOST_ROWS = 100_000
_MOST_BYTES = 8 << 20  # of compressed files
_INTERPRETED = {"spark.sql.codegen.factoryMode": "NO_CODEGEN"}


def settings_for(*, rows: int | None = 0, bytes: int = 0) -> dict[str, str]:
    """Settings for a statement that reads tables of so many rows, or so many bytes of changes."""
    return _INTERPRETED if rows is not None and rows <= _MOST_ROWS and bytes <= _MOST_BYTES else {}
