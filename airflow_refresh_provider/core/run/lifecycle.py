"""The life of a definition: the one table of states, events and transitions.

A definition rests in IDLE. START claims it for one run, which fills staging while REFRESHING. FREEZE fixes what will
be merged; from then on, in FINISHING, a crash resumes chunk by chunk. PUBLISH records the sealed version, END drops
the run. ABANDON gives an unsealed run up. DROP may come at any time and passes through RESETTING.

Everything that moves state goes through `advance`; the diagram in the docs is drawn from TRANSITIONS.
"""

from __future__ import annotations

from enum import StrEnum

from airflow_refresh_provider.errors import Defect


class State(StrEnum):
    """Where a definition stands between two transitions."""

    IDLE = "IDLE"
    REFRESHING = "REFRESHING"
    FINISHING = "FINISHING"
    RESETTING = "RESETTING"


class Event(StrEnum):
    """What is stored with each transition; every row of the state table names one."""

    REGISTER = "register"  # first row of a definition, or a changed definition
    START = "start"  # a run begins: owner, generation and pins are fixed
    PREPARE = "prepare"  # the target exists and its identity and columns are known
    FREEZE = "freeze"  # staging is complete; units and chunks are fixed
    CLAIM = "claim"  # an owner takes units under a new generation
    FAIL = "fail"  # the run failed and is kept; the next caller resumes or abandons it
    REPAIR = "repair"  # foreign commits were found; another round of chunks is fixed
    PUBLISH = "publish"  # the sealed version is what readers of whole refreshes see
    END = "end"  # staging is gone, the run is over
    PARK = "park"  # between two tasks of the same run: nobody else may take it before the deadline
    ADOPT = "adopt"  # the next task of the same run takes the lease
    TAKE_OVER = "take_over"  # a new owner continues a run whose owner is gone
    RELEASE = "release"  # the owner leaves an unfinished run for anyone to resume
    ABANDON = "abandon"  # an unsealed run is given up
    PAUSE = "pause"  # nothing begins, and the next chunk waits
    RESUME = "resume"  # a pause or a suspension is over
    SUSPEND = "suspend"  # nothing begins until somebody has seen to the reason
    START_FAILED = "start_failed"  # a scheduled run could not start
    REBUILD = "rebuild"  # what is published was read from the target's log again
    DROP = "drop"  # the definition is being removed
    FORGET = "forget"  # the definition is removed; its counter stays


TRANSITIONS: dict[tuple[State, Event], State] = {
    (State.IDLE, Event.REGISTER): State.IDLE,
    (State.IDLE, Event.START): State.REFRESHING,
    (State.REFRESHING, Event.REGISTER): State.REFRESHING,
    (State.REFRESHING, Event.TAKE_OVER): State.REFRESHING,
    (State.REFRESHING, Event.RELEASE): State.REFRESHING,
    (State.REFRESHING, Event.PARK): State.REFRESHING,
    (State.REFRESHING, Event.ADOPT): State.REFRESHING,
    (State.REFRESHING, Event.PREPARE): State.REFRESHING,
    (State.REFRESHING, Event.FAIL): State.REFRESHING,
    (State.REFRESHING, Event.FREEZE): State.FINISHING,
    (State.REFRESHING, Event.ABANDON): State.IDLE,
    (State.FINISHING, Event.REGISTER): State.FINISHING,
    (State.FINISHING, Event.TAKE_OVER): State.FINISHING,
    (State.FINISHING, Event.RELEASE): State.FINISHING,
    (State.FINISHING, Event.PARK): State.FINISHING,
    (State.FINISHING, Event.ADOPT): State.FINISHING,
    (State.FINISHING, Event.CLAIM): State.FINISHING,
    (State.FINISHING, Event.FAIL): State.FINISHING,
    (State.FINISHING, Event.REPAIR): State.FINISHING,
    (State.FINISHING, Event.PUBLISH): State.FINISHING,
    (State.FINISHING, Event.END): State.IDLE,
    (State.FINISHING, Event.ABANDON): State.IDLE,
    (State.IDLE, Event.PAUSE): State.IDLE,
    (State.IDLE, Event.RESUME): State.IDLE,
    (State.REFRESHING, Event.PAUSE): State.REFRESHING,
    (State.REFRESHING, Event.RESUME): State.REFRESHING,
    (State.FINISHING, Event.PAUSE): State.FINISHING,
    (State.FINISHING, Event.RESUME): State.FINISHING,
    (State.IDLE, Event.SUSPEND): State.IDLE,
    (State.REFRESHING, Event.SUSPEND): State.REFRESHING,
    (State.FINISHING, Event.SUSPEND): State.FINISHING,
    (State.IDLE, Event.START_FAILED): State.IDLE,
    (State.IDLE, Event.REBUILD): State.IDLE,
    (State.IDLE, Event.DROP): State.RESETTING,
    (State.REFRESHING, Event.DROP): State.RESETTING,
    (State.FINISHING, Event.DROP): State.RESETTING,
    (State.RESETTING, Event.DROP): State.RESETTING,
    (State.RESETTING, Event.FORGET): State.IDLE,
}


def advance(state: State, event: Event) -> State:
    """The state after `event`. Raises Defect when the table has no such transition."""
    try:
        return TRANSITIONS[state, event]
    except KeyError:
        raise Defect(
            "illegal_transition",
            f"{event.value} is not possible in state {state.value}",
            left="The stored state was not changed.",
            next="Report this; `airflow-refresh recover` is safe to run.",
        ) from None
