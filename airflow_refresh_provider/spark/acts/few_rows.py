"""What makes Spark faster with few rows: projections that are interpreted.

For every projection of every task Spark writes Java code, only to find that it has compiled it before; writing it took
a quarter of the processor time of small refreshes. Stages that are generated as a whole are not concerned.
"""

from __future__ import annotations

_MOST_ROWS = 100_000
_MOST_BYTES = 8 << 20  # of compressed files
_INTERPRETED = {"spark.sql.codegen.factoryMode": "NO_CODEGEN"}


def settings_for(*, rows: int = 0, bytes: int = 0) -> dict[str, str]:
    """Settings for a statement that changes about so many rows, or reads so many bytes of changes."""
    return _INTERPRETED if rows <= _MOST_ROWS and bytes <= _MOST_BYTES else {}
