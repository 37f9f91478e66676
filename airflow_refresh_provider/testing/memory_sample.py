"""Values of anchors in memory: those of a row, and whether they are drawn for a sample."""

from __future__ import annotations

from zlib import crc32

from airflow_refresh_provider.core.maintain.plan import Maintenance
from airflow_refresh_provider.testing.memory_table import Row

_DRAWN_OF = 1_000_000


def anchors_of(row: Row, maintenance: Maintenance) -> tuple[object, ...]:
    """The values of the anchors of a row."""
    by_name = {name.lower(): value for name, value in row.items()}
    return tuple(by_name[anchor] for anchor in maintenance.anchors)


def is_drawn(values: tuple[object, ...], share: float, seed: str) -> bool:
    """Whether values belong to a sample, by nothing but themselves and the seed."""
    return crc32(f"{seed} {values!r}".encode()) % _DRAWN_OF < share * _DRAWN_OF
