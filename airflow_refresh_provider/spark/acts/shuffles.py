"""Into how many partitions the rows of a whole result are shuffled, so that a task has them in memory."""

from __future__ import annotations

_PARTITION_ROWS = 750_000
_FEWEST_PARTITIONS = 4


def settings_for(rows: int) -> dict[str, str]:
    """Settings for a statement that shuffles about so many whole rows."""
    return {"spark.sql.shuffle.partitions": str(max(_FEWEST_PARTITIONS, -(-rows // _PARTITION_ROWS)))}
