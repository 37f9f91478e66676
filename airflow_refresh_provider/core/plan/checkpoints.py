"""When a checkpoint goes with a commit: that is Spark's, because only one library writes the checkpoints of a table."""

from __future__ import annotations

from collections.abc import Mapping

_EVERY = 10
"""Delta's default of `delta.checkpointInterval`."""


def checkpoint_is_due(version: int, properties: Mapping[str, str]) -> bool:
    """Whether the commit after a version comes with a checkpoint."""
    every = properties.get("delta.checkpointInterval", "")
    return (version + 1) % (int(every) if every.isdecimal() and int(every) else _EVERY) == 0
