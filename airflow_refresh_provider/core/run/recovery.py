"""What to do with a run that was found, from facts alone.

Two questions, asked in this order: may the caller touch the run at all (`admit`), and once it is fenced, what does the
log ask for (`next_step`). A seal outranks everything: a sealed run is published, never abandoned.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from airflow_refresh_provider.core.run.lifecycle import State
from airflow_refresh_provider.core.run.owner import Liveness
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.core.run.request import OnInterrupted
from airflow_refresh_provider.core.text.stored import Stored


class Admission(StrEnum):
    """What a caller who wants to refresh may do."""

    START = "start"  # nothing is in progress
    ATTACH = "attach"  # the run is the caller's own, parked in good order between two of its tasks
    TAKE_OVER = "take_over"  # an unfinished run whose owner is gone
    BUSY = "busy"  # a live owner holds it
    RESETTING = "resetting"  # the definition is being dropped


class Step(StrEnum):
    """How an unfinished run that has been taken over goes on."""

    CLEAN_UP = "clean_up"  # already published: staging has to go
    PUBLISH = "publish"  # sealed, but the control tables do not know yet
    RESUME = "resume"
    ABANDON = "abandon"


class Decision(Stored):
    """A step and the reason that history shows."""

    step: Step
    reason: str


class Facts(Stored):
    """What was found out about an unfinished run after it was fenced.

    `unresumable_reason`: why it cannot be finished at its pins. `released`: its last owner released it.
    """

    sealed: bool
    definition_changed: bool
    target_replaced: bool
    unresumable_reason: str | None
    wish: OnInterrupted
    released: bool = False


def admit(record: Record, liveness: Liveness, now: datetime, origin: str | None = None) -> Admission:
    """What a caller may do; a run of his `origin` is his own.

    Whoever orders the tasks of an origin ends one before he begins the next, so an owner that still seems to live is
    at most a leftover of the caller's own, to be fenced like any other.
    """
    if record.state is State.RESETTING:
        return Admission.RESETTING
    run = record.run
    if run is None:
        return Admission.START
    parked = run.kept_until(now) is not None
    own = origin is not None and run.origin == origin
    if own and parked:
        return Admission.ATTACH
    if not own and liveness is not Liveness.ORIGIN_FINISHED and (parked or liveness.is_running):
        return Admission.BUSY
    return Admission.TAKE_OVER


def next_step(record: Record, facts: Facts) -> Decision:
    """How a fenced, unfinished run goes on; cases in order of precedence."""
    run = record.run
    assert run is not None
    if run.published:
        return Decision(step=Step.CLEAN_UP, reason="the refresh was published; only its staging was left")
    if facts.sealed:
        return Decision(step=Step.PUBLISH, reason="the refresh was complete in the target, but not yet recorded")
    if facts.target_replaced:
        return Decision(step=Step.ABANDON, reason="the target is no longer the table the run began with")
    if facts.definition_changed:
        return Decision(step=Step.ABANDON, reason="the definition was changed while the run was interrupted")
    if facts.wish is OnInterrupted.RESTART:
        return Decision(step=Step.ABANDON, reason="a restart was asked for")
    if facts.unresumable_reason:
        return Decision(step=Step.ABANDON, reason=f"it cannot be finished: {facts.unresumable_reason}")
    if facts.released:
        return Decision(step=Step.RESUME, reason="the run was paused or stopped, or had failed, before its end")
    return Decision(step=Step.RESUME, reason="the owner of the run was gone")
