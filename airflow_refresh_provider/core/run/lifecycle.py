"""The life of a definition: the one table of states, events and transitions.

A definition without a run is IDLE. START claims it for one run, which fills staging while REFRESHING. FREEZE fixes what
will be merged; from then on, in FINISHING, a run resumes chunk by chunk after a crash. PUBLISH records the sealed
version, END drops the run, ABANDON drops an unsealed one. DROP may come at any time and passes through RESETTING.

Every change of state goes through `advance`; the diagram in the docs is generated from TRANSITIONS.
"""

from __future__ import annotations

from enum import StrEnum

from airflow_refresh_provider.errors import Defect


class State(StrEnum):
    """The state of a definition between two transitions."""

    IDLE = "IDLE"
    REFRESHING = "REFRESHING"
    FINISHING = "FINISHING"
    RESETTING = "RESETTING"


class Event(StrEnum):
    """What is stored with each transition; every row of the state table names one."""

    REGISTER = "register"  # first row of a definition, or a changed definition
    START = "start"  # a run starts: owner, generation and pins are fixed
    PREPARE = "prepare"  # the target exists and its identity and columns are known
    FREEZE = "freeze"  # staging is complete; units and chunks are fixed
    CLAIM = "claim"  # an owner takes units under a new generation
    STOP = "stop"  # the budget of the run is spent: its units stop before their next chunk
    FAIL = "fail"  # the run failed and is kept; the next caller resumes or abandons it
    REPAIR = "repair"  # foreign commits were found; another round of chunks is fixed
    PUBLISH = "publish"  # the sealed version is recorded as the published one
    END = "end"  # staging is dropped, the run has ended
    PARK = "park"  # between two tasks of the same run: no other caller may take it before the deadline
    ADOPT = "adopt"  # the next task of the same run takes the lease
    TAKE_OVER = "take_over"  # a new owner continues a run whose owner is gone
    RELEASE = "release"  # any caller may resume the unfinished run
    ABANDON = "abandon"  # an unsealed run ends without being published
    PAUSE = "pause"  # no run starts, and the run in progress stops before its next chunk
    QUEUE = "queue"  # a request waits for the run in progress to end
    UNQUEUE = "unqueue"  # a request waits no more: it was withdrawn, or needs no run
    THROTTLE = "throttle"  # another limit of rows a second, from the next chunk on
    RESUME = "resume"  # a pause or a suspension ends
    CANCEL = "cancel"  # the run is taken from its owner; the next caller resumes or abandons it
    SUSPEND = "suspend"  # no run starts until the definition is resumed
    START_FAILED = "start_failed"  # a scheduled run could not start
    REBUILD = "rebuild"  # the published version was restored from the target's log
    DROP = "drop"  # the definition is being removed
    FORGET = "forget"  # the definition is removed; its generation counter stays


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
    (State.FINISHING, Event.STOP): State.FINISHING,
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
    (State.IDLE, Event.THROTTLE): State.IDLE,
    (State.REFRESHING, Event.THROTTLE): State.REFRESHING,
    (State.FINISHING, Event.THROTTLE): State.FINISHING,
    (State.REFRESHING, Event.QUEUE): State.REFRESHING,
    (State.FINISHING, Event.QUEUE): State.FINISHING,
    (State.IDLE, Event.UNQUEUE): State.IDLE,
    (State.REFRESHING, Event.UNQUEUE): State.REFRESHING,
    (State.FINISHING, Event.UNQUEUE): State.FINISHING,
    (State.REFRESHING, Event.CANCEL): State.REFRESHING,
    (State.FINISHING, Event.CANCEL): State.FINISHING,
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
