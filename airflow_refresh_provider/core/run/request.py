"""What a caller asks of one refresh."""

from __future__ import annotations

from enum import StrEnum

from airflow_refresh_provider.core.changes.pins import VersionVector
from airflow_refresh_provider.core.definition.mode import Mode
from airflow_refresh_provider.core.run.recovery import OnInterrupted
from airflow_refresh_provider.core.text.stored import Stored


class IfRunning(StrEnum):
    """What to do when a live owner holds the definition: fail, or end quietly."""

    REFUSE = "refuse"
    SKIP = "skip"


class Request(Stored):
    """One refresh as asked for. `mode`: None = as defined. `force`: run although nothing moved, accept a mass delete.

    `origin` is a name for what the refresh is made for: a run that bears it is the caller's own, whoever held it last.
    Its last word tells it from others that the same schedule makes.
    `scheduled`: nobody has asked for it by hand, so its failures count. `pins`: what to read of inputs at these places,
    instead of their newest; a younger state that was applied stays, as long as it is there.
    """

    on_interrupted: OnInterrupted = OnInterrupted.RESUME
    if_running: IfRunning = IfRunning.REFUSE
    mode: Mode | None = None
    force: bool = False
    workers: int = 2
    origin: str | None = None
    scheduled: bool = False
    pins: VersionVector = {}

    def yields_to(self, origin: str | None) -> bool:
        """Whether to end quietly while a run that is made for `origin` is at work.

        Of those that one schedule makes, the first brings everything up to date. In a cascade, where inputs are pinned
        for all, nobody yields: whoever reads the target would join old and new.
        """
        if self.if_running is IfRunning.SKIP:
            return True
        return self.scheduled and not self.pins and _same_maker(self.origin, origin)


def _same_maker(one: str | None, other: str | None) -> bool:
    """Whether two origins have the same maker."""
    maker, _, _ = (one or "").rpartition(" ")
    return bool(maker) and maker == (other or "").rpartition(" ")[0]
