"""What a caller asks of one refresh."""

from __future__ import annotations

from enum import StrEnum

from airflow_refresh_provider.core.recovery import OnInterrupted
from airflow_refresh_provider.core.stored import Stored


class IfRunning(StrEnum):
    """What to do when a live owner holds the definition: fail, or end quietly."""

    REFUSE = "refuse"
    SKIP = "skip"


class Request(Stored):
    """One refresh as asked for. `force`: run although nothing moved, and accept a mass delete.

    `origin` is a name for what the refresh is made for: a run that bears it is the caller's own, whoever held it last.
    """

    on_interrupted: OnInterrupted = OnInterrupted.RESUME
    if_running: IfRunning = IfRunning.REFUSE
    force: bool = False
    workers: int = 2
    origin: str | None = None
