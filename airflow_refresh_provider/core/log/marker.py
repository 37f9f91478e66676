"""Markers: the (appId, version) pairs that Delta commits together with the rows of a chunk.

A marker version packs three numbers, most significant first: the generation that wrote it, the chunk, and whether the
commit is the chunk itself or only a fence standing at that chunk. Delta skips a write whose version is not greater
than the one it has seen for the appId, so a younger generation fences every older one.
"""

from __future__ import annotations

from typing import NamedTuple

from airflow_refresh_provider.core.plan.plan import MAX_SLOTS

_CHUNK_BITS = 24
_KIND_BITS = 8
_GENERATION_SHIFT = _CHUNK_BITS + _KIND_BITS
MAX_CHUNK = (1 << _CHUNK_BITS) - 1
MAX_GENERATION = (1 << 31) - 1

_FENCE = 0
_WORK = 1


class Marker(NamedTuple):
    """What a txn version says: generation >= 1, chunk from 1 (0 = none yet), and whether it is a fence."""

    generation: int
    chunk: int
    fence: bool = False

    @property
    def version(self) -> int:
        """The txnVersion to send to Delta. Raises ValueError outside the ranges above."""
        if not (1 <= self.generation <= MAX_GENERATION and 0 <= self.chunk <= MAX_CHUNK):
            raise ValueError(f"marker out of range: {self}")
        kind = _FENCE if self.fence else _WORK
        return self.generation << _GENERATION_SHIFT | self.chunk << _KIND_BITS | kind

    @classmethod
    def of(cls, version: int) -> Marker:
        """The marker that a txnVersion of ours stands for."""
        kind = version & ((1 << _KIND_BITS) - 1)
        return cls(version >> _GENERATION_SHIFT, version >> _KIND_BITS & MAX_CHUNK, kind == _FENCE)


def slot_app_id(target_id: str, slot: int) -> str:
    """The appId under which the unit of this slot commits its chunks."""
    return f"{target_id}/s{slot}"


def seal_app_id(target_id: str) -> str:
    """The appId under which finished runs are sealed."""
    return f"{target_id}/seal"


def app_ids(target_id: str) -> tuple[str, ...]:
    """Every appId a target of ours can carry."""
    return (*(slot_app_id(target_id, slot) for slot in range(MAX_SLOTS)), seal_app_id(target_id))
