"""Owners and leases: which process holds a run, and when another may take it over.

Leases and beats only say whether an owner seems alive. They never make a write safe; fences in the target's log do.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from pydantic import Field

from airflow_refresh_provider.core.text.stored import Stored

BEAT_EVERY = timedelta(seconds=10)
LOOK_EVERY = timedelta(seconds=2)
"""How often an owner looks whether it still holds its run, so that its statement ends within five seconds."""
STALE_AFTER = timedelta(seconds=45)
PARKED_FOR = timedelta(hours=1)
WAIT_FOR_LEASE = timedelta(seconds=60)


BEAT_FORMAT = 2
"""Version of a beat; a change of its fields raises it. A beat that cannot be read would pass for no sign of life."""


class Owner(Stored):
    """One process: enough to find out, where it is visible, whether it still exists. `label` is for people.

    `pid_space` is the namespace of its pid: a container has its own. That and the user are None where not known.
    """

    host: str
    boot_id: str
    pid: int
    started: float
    label: str
    pid_space: str | None = None
    user: int | None = None


class Beat(Stored):
    """The last sign of life of a run or of one of its units. `waits`: until when units wait for a throttle."""

    format: int = Field(default=BEAT_FORMAT, le=BEAT_FORMAT)
    generation: int
    at: datetime
    waits: dict[int, datetime] | None = None


class OriginStatus(StrEnum):
    """Whether what a run was started for, such as a DAG run, still exists, as far as that is known here."""

    UNKNOWN = "unknown"  # it may still be running
    FINISHED = "finished"
    DELETED = "deleted"  # no task is started for it again


class Liveness(StrEnum):
    """What is known about the owner of a run."""

    LIVE = "live"
    ORPHANED = "orphaned"  # live, but the origin was deleted: no task comes after those that still run
    STALE = "stale"
    UNOWNED = "unowned"  # released, or parked and past its deadline
    ORIGIN_FINISHED = "origin_finished"  # the origin has finished, whatever the run's owners still do

    @property
    def is_running(self) -> bool:
        """Whether an owner is assumed to hold the run, so that no other caller may take it."""
        return self in (Liveness.LIVE, Liveness.ORPHANED)

    @property
    def may_be_kept(self) -> bool:
        """Whether tasks may come for which a parked run is kept."""
        return self not in (Liveness.ORPHANED, Liveness.ORIGIN_FINISHED)


def liveness(
    now: datetime,
    owners: tuple[Owner, ...],
    taken_at: datetime,
    beats: tuple[Beat, ...],
    alive: bool | None,
    origin_status: OriginStatus = OriginStatus.UNKNOWN,
) -> Liveness:
    """The liveness of the owners of a run and of its units. `alive` is False when every process is known to be gone.

    A run is stale only when neither the run nor any of its units gave a sign of life for STALE_AFTER, or at once
    when every process is known to be gone. A finished origin does not protect its run. A deleted one does while an
    owner is live: the origin may be unknown only to the Airflow that was asked.
    """
    signs = _signs(now, owners, taken_at, beats, alive)
    if origin_status is OriginStatus.DELETED and signs is Liveness.LIVE:
        return Liveness.ORPHANED
    return signs if origin_status is OriginStatus.UNKNOWN else Liveness.ORIGIN_FINISHED


def _signs(
    now: datetime, owners: tuple[Owner, ...], taken_at: datetime, beats: tuple[Beat, ...], alive: bool | None
) -> Liveness:
    if not owners:
        return Liveness.UNOWNED
    if alive is False:
        return Liveness.STALE
    last = max((taken_at, *(b.at for b in beats)))
    return Liveness.STALE if now - last > STALE_AFTER else Liveness.LIVE
