"""What the target's Delta log says, and what it means for a run.

The log is the truth about data: which chunks are in, and whether another writer has committed.
Commits are read elsewhere; this module only classifies them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import StrEnum

from airflow_refresh_provider.core.log.marker import Marker, slot_app_id
from airflow_refresh_provider.core.text.stored import Stored


class Commit(Stored):
    """One version of a Delta table, as its log file has it.

    `vnodes` are the values of the `_vnode` partition it touched, None when unknown. `net_rows` is how many
    rows it added less those it removed, None without statistics. `reshaped`: it changed what readers see of the
    rows (columns, their types, the layout, the features a reader needs), or it is not known whether it did.
    """

    version: int
    operation: str
    txns: dict[str, int] = {}
    data_change: bool = True
    reshaped: bool = False
    vnodes: tuple[int, ...] | None = None
    net_rows: int | None = None
    bytes_added: int = 0
    note: str | None = None


class Origin(StrEnum):
    """Which writer a commit is from, seen from one run."""

    OURS = "ours"
    NEUTRAL = "neutral"  # moves files or bookkeeping, not rows
    FOREIGN = "foreign"


class Standing(StrEnum):
    """What the newest marker of a slot means for a commit that was sent."""

    MINE = "mine"
    OLDER = "older"  # not known yet: repeating with the same version is safe
    YOUNGER = "younger"  # another owner has the slot now


class Foreign(Stored):
    """What other writers changed: commits, and the vnodes they touched (None = any)."""

    versions: tuple[int, ...] = ()
    vnodes: tuple[int, ...] | None = ()

    @property
    def found(self) -> bool:
        """Whether there is anything."""
        return bool(self.versions)


def standing(found: int | None, expected: Marker) -> Standing:
    """Compare the newest marker of a slot with the one that was sent."""
    if found is None or found < expected.version:
        return Standing.OLDER
    return Standing.MINE if found == expected.version else Standing.YOUNGER


def chunk_reached(found: int | None, generations: Collection[int]) -> int:
    """The chunk at which the newest marker of a slot stands, 0 when it is not of this run.

    Exact once the slot is fenced at the last chunk done: from then on only its present owner moves the marker.
    """
    if found is None:
        return 0
    marker = Marker.of(found)
    return marker.chunk if marker.generation in generations else 0


def chunks_done(commits: Iterable[Commit], target_id: str, slot: int, generations: Collection[int]) -> int:
    """The highest chunk that a run has committed on a slot, 0 for none; fences count for the chunk they stand at.

    Also finds a late chunk that came just before a fence that stands at an earlier one.
    """
    app_id = slot_app_id(target_id, slot)
    markers = (Marker.of(c.txns[app_id]) for c in commits if app_id in c.txns)
    return max((m.chunk for m in markers if m.generation in generations), default=0)


def origin(commit: Commit, target_id: str, generations: Collection[int]) -> Origin:
    """Which writer a commit is from. A restored table has old markers again, so RESTORE is foreign."""
    if commit.operation.upper().startswith("RESTORE"):
        return Origin.FOREIGN
    prefix = f"{target_id}/"
    ours = [Marker.of(v) for app_id, v in commit.txns.items() if app_id.startswith(prefix)]
    if any(m.generation in generations for m in ours):
        return Origin.OURS
    if not commit.data_change and not commit.reshaped:
        return Origin.NEUTRAL
    return Origin.FOREIGN


def last_equal(commits: Iterable[Commit], target_id: str, version: int) -> int:
    """The newest version that has exactly the rows and columns of `version`; `commits` are all those after it."""
    for commit in commits:
        if origin(commit, target_id, ()) is not Origin.NEUTRAL:
            break
        version = commit.version
    return version


def foreign(commits: Iterable[Commit], target_id: str, generations: Collection[int]) -> Foreign:
    """The foreign commits among some, and the vnodes to compare again because of them."""
    found = [c for c in commits if origin(c, target_id, generations) is Origin.FOREIGN]
    if any(c.vnodes is None or c.reshaped for c in found):
        return Foreign(versions=tuple(c.version for c in found), vnodes=None)
    return Foreign(
        versions=tuple(c.version for c in found),
        vnodes=tuple(sorted({v for c in found for v in c.vnodes or ()})),
    )
