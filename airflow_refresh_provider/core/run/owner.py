"""Owners and leases: who works on a run, and when somebody else may take it over.

Leases and beats only say whether an owner seems alive. They never make a write safe; fences in the target's log do.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from airflow_refresh_provider.core.text.stored import Stored

BEAT_EVERY = timedelta(seconds=10)
STALE_AFTER = timedelta(seconds=45)
PARKED_FOR = timedelta(hours=1)
WAIT_FOR_LEASE = timedelta(seconds=60)


class Owner(Stored):
    """One process: enough to tell, from where it can be seen, whether it still exists. `label` is for people.

    `pid_space` is where its id counts: a container has one of its own. That and the user are None where not known.
    """

    host: str
    boot_id: str
    pid: int
    started: float
    label: str
    pid_space: str | None = None
    user: int | None = None


class Beat(Stored):
    """The last sign of life of a run or of one of its units."""

    generation: int
    at: datetime


class Fate(StrEnum):
    """What became of that which a run is made for, as far as it is known here."""

    UNKNOWN = "unknown"  # it may well go on
    OVER = "over"  # it has ended
    GONE = "gone"  # it was removed: nobody begins anything for it any more


class Liveness(StrEnum):
    """What is known about the owner of a run."""

    LIVE = "live"
    LAST = "last"  # as live, but what the run was made for is gone: nobody comes after those who are still at work
    STALE = "stale"
    FREE = "free"  # nobody's: released, or parked and past its deadline
    OVER = "over"  # what the run was made for is no more, whatever its owners still do, or was going to do

    @property
    def at_work(self) -> bool:
        """Whether somebody is taken to be at it, whom nobody else may disturb."""
        return self in (Liveness.LIVE, Liveness.LAST)


def liveness(
    now: datetime,
    owners: tuple[Owner, ...],
    taken_at: datetime,
    beats: tuple[Beat, ...],
    alive: bool | None,
    fate: Fate = Fate.UNKNOWN,
) -> Liveness:
    """Judge the owners of a run and of its units. `alive` is False when the hosts of all of them say they are gone.

    A run is stale only when neither the run nor any of its units gave a sign of life for STALE_AFTER, or at once
    when every process is known to be gone. What has ended keeps nobody away. What is gone does as long as somebody
    is at work for it: it may be gone only for those who ask here.
    """
    signs = _signs(now, owners, taken_at, beats, alive)
    if fate is Fate.GONE and signs is Liveness.LIVE:
        return Liveness.LAST
    return signs if fate is Fate.UNKNOWN else Liveness.OVER


def _signs(
    now: datetime, owners: tuple[Owner, ...], taken_at: datetime, beats: tuple[Beat, ...], alive: bool | None
) -> Liveness:
    if not owners:
        return Liveness.FREE
    if alive is False:
        return Liveness.STALE
    last = max((taken_at, *(b.at for b in beats)))
    return Liveness.STALE if now - last > STALE_AFTER else Liveness.LIVE
