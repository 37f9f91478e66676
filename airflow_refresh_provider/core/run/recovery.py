"""What to do with a run that was found, from facts alone.

Two questions in this order: may the caller take the run (`admit`), and once it is fenced, how does it continue
(`next_step`). A sealed run is published, never abandoned.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from airflow_refresh_provider.core.run.cancellation import Cancellation
from airflow_refresh_provider.core.run.lifecycle import State
from airflow_refresh_provider.core.run.owner import Liveness
from airflow_refresh_provider.core.run.record import Record, Run
from airflow_refresh_provider.core.run.request import OnInterrupted
from airflow_refresh_provider.core.text.stored import Stored


class Admission(StrEnum):
    """What a caller that wants to refresh may do."""

    START = "start"  # no run is in progress
    ATTACH = "attach"  # the run belongs to the caller's origin and is parked
    TAKE_OVER = "take_over"  # an unfinished run whose owner is gone
    BUSY = "busy"  # a live owner holds it
    RESETTING = "resetting"  # the definition is being dropped


class Step(StrEnum):
    """How an unfinished run that was taken over continues."""

    CLEAN_UP = "clean_up"  # already published: only staging is left
    PUBLISH = "publish"  # sealed, but not yet recorded in the control tables
    RESUME = "resume"
    ABANDON = "abandon"


class Decision(Stored):
    """A step and the reason that history shows."""

    step: Step
    reason: str


class Facts(Stored):
    """What was found out about an unfinished run after it was fenced.

    `unresumable_reason`: why it cannot be finished at its pins. `cancelled`: a person has cancelled it. `released`: its
    last owner released it, and `stopped`: because its budget was spent. `failed`: it ended with an error. `taken_from`:
    who held it when it was taken over on request. `chunks`: how many are in the target, and of how many; None before
    they are planned.
    """

    sealed: bool
    definition_changed: bool
    target_replaced: bool
    unresumable_reason: str | None
    on_interrupted: OnInterrupted
    stopped: bool = False
    cancelled: Cancellation | None = None
    released: bool = False
    failed: bool = False
    taken_from: str | None = None
    chunks: tuple[int, int] | None = None


def admit(record: Record, liveness: Liveness, now: datetime, origin: str | None = None) -> Admission:
    """What a caller may do; a run of the caller's `origin` is its own.

    Tasks of one origin run one after the other, so an owner of the same origin that still seems live is a leftover
    and is fenced like any other.
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


def next_step(run: Run, facts: Facts) -> Decision:
    """How a fenced, unfinished run continues; cases in order of precedence."""
    if run.published:
        return Decision(step=Step.CLEAN_UP, reason="the refresh was published; only its staging was left")
    if facts.sealed:
        return Decision(step=Step.PUBLISH, reason="the refresh was complete in the target, but not yet recorded")
    if facts.target_replaced:
        return Decision(step=Step.ABANDON, reason="the target is no longer the table the run started with")
    if facts.definition_changed:
        return Decision(step=Step.ABANDON, reason="the definition was changed while the run was interrupted")
    if facts.cancelled and facts.cancelled.abandon:
        return Decision(step=Step.ABANDON, reason=f"{facts.cancelled.text}, for good")
    if facts.on_interrupted is OnInterrupted.RESTART:
        return Decision(step=Step.ABANDON, reason="abandoning it was requested")
    if facts.unresumable_reason:
        return Decision(step=Step.ABANDON, reason=f"it cannot be finished: {facts.unresumable_reason}")
    return Decision(step=Step.RESUME, reason=f"{_interruption(facts)} {_progress(facts)}")


def _interruption(facts: Facts) -> str:
    if facts.cancelled:
        return f"it was {facts.cancelled.text}"
    if facts.taken_from:
        return f"it was taken over on request from {facts.taken_from}"
    if facts.stopped:
        return "its budget was spent"
    if facts.failed:
        return "it failed"
    return "it was stopped" if facts.released else "its owner has ended, or stopped sending heartbeats,"


def _progress(facts: Facts) -> str:
    if facts.chunks is None:
        return "before its chunks were planned"
    done, planned = facts.chunks
    return f"after {done} of {planned} chunk{'' if planned == 1 else 's'}"
