"""What a person can do with a run, by the state that it is in: the page offers this, and nothing else."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from airflow_refresh_provider.core.run.lifecycle import State
from airflow_refresh_provider.core.run.one_run import the_run
from airflow_refresh_provider.core.run.owner import Liveness
from airflow_refresh_provider.core.run.record import Record, Run
from airflow_refresh_provider.core.run.recovery import Admission, admit
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.text.stored import Stored
from airflow_refresh_provider.errors import Refused


class Act(StrEnum):
    """What can be done with a run."""

    RECOVER = "recover"
    TAKE_OVER = "take_over"
    CANCEL = "cancel"
    ABANDON = "abandon"


class Offer(Stored):
    """Something that can be done with a run now: what it does, and the command that does the same."""

    act: Act
    effect: str
    command: str


_EFFECTS = {
    Act.RECOVER: "continues the run after its last chunk, or abandons it where it cannot be continued; starts no other",
    Act.TAKE_OVER: "takes the run from its owner, even from one that is alive and then ends with `lost_lease`, and "
    "continues it after its last chunk",
    Act.CANCEL: "ends the run at once, its statement in Spark is interrupted; the next run continues it",
    Act.ABANDON: "ends the run for good; nothing of it is published, and the next run starts from the newest versions "
    "of the inputs",
}
_COMMANDS = {
    Act.RECOVER: "airflow-refresh recover {name}",
    Act.TAKE_OVER: "airflow-refresh run {name} --take-over",
    Act.CANCEL: "airflow-refresh cancel {name}",
    Act.ABANDON: "airflow-refresh cancel {name} --abandon",
}


def offers(record: Record, liveness: Liveness, now: datetime) -> tuple[Offer, ...]:
    """What can be done with the run in progress; nothing where there is none, or the definition is being dropped."""
    run = record.run
    if run is None or record.state is State.RESETTING:
        return ()
    return tuple(_offer(record.name, act) for act in Act if _applies(act, record, run, liveness, now))


def request_of(act: Act, record: Record, run_id: str, liveness: Liveness, now: datetime) -> Request:
    """The refresh that recovers a run or takes it over. Raises Refused where that run has ended, or is otherwise now
    than it was shown.
    """
    run = the_run(record, run_id)
    if act not in (one.act for one in offers(record, liveness, now)):
        raise Refused(
            "run_changed",
            f"run {run_id} of {record.name} is {_state(record, run, liveness, now)} now: {_REFUSED[act]}",
            next=f"See it with `airflow-refresh show {record.name}`.",
        )
    return Request(only_run=run_id, take_over=act is Act.TAKE_OVER)


_REFUSED = {Act.RECOVER: "it is not recovered", Act.TAKE_OVER: "there is no owner to take it from"}


def _offer(name: str, act: Act) -> Offer:
    return Offer(act=act, effect=_EFFECTS[act], command=_COMMANDS[act].format(name=name))


def _applies(act: Act, record: Record, run: Run, liveness: Liveness, now: datetime) -> bool:
    held = admit(record, liveness, now) is Admission.BUSY
    match act:
        case Act.RECOVER:
            return not (held or record.paused or run.cancelled or run.stopped)
        case Act.TAKE_OVER:
            return held and not record.paused
        case Act.CANCEL:
            return not (run.published or run.cancelled)
        case Act.ABANDON:
            return not (run.published or (run.cancelled and run.cancelled.abandon))


def _state(record: Record, run: Run, liveness: Liveness, now: datetime) -> str:
    if record.paused:
        return "paused"
    if record.state is State.RESETTING:
        return "being dropped"
    if run.cancelled:
        return run.cancelled.text
    if run.stopped:
        return f"stopped, as its budget is spent ({run.stopped}), and continued by the next run"
    if admit(record, liveness, now) is Admission.BUSY:
        return f"held by {run.holder}"
    return "interrupted, so that any run continues it"
