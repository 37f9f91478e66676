"""What a caller requests of one refresh. Interfaces derive their options from these fields: see `core.run.options`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, PositiveInt

from airflow_refresh_provider.core.changes.pins import VersionVector
from airflow_refresh_provider.core.definition.budget import AMOUNT, TIME_OF_DAY, Budget, amount, time_of_day
from airflow_refresh_provider.core.definition.mode import Mode, requested_mode
from airflow_refresh_provider.core.run.options import Pattern, Scope
from airflow_refresh_provider.core.text.stored import Stored


class OnInterrupted(StrEnum):
    """What to do with an unfinished run: finish it at its pins, or abandon it and start a new one."""

    RESUME = "resume"
    RESTART = "restart"


class IfRunning(StrEnum):
    """What to do while another owner holds the run: fail, skip this refresh, or let it wait in the queue."""

    REFUSE = "refuse"
    SKIP = "skip"
    QUEUE = "queue"


class Serves(StrEnum):
    """Which of the requests that wait a refresh serves: one that is equal, the first, or the first and nothing else."""

    EQUAL = "equal"
    FIRST = "first"
    ONLY = "only"


def _time_or_none(text: str | None) -> str | None:
    return text if text is None else time_of_day(text)


def _amount_or_none(text: str | None) -> str | None:
    """An amount as it was given, so that it is passed on as it was written."""
    if amount(text) == 0:
        raise ValueError("must be more than nothing")
    return text


class Request(Stored):
    """One refresh as requested. `mode` None is that of the definition.

    A run with the caller's `origin` is the caller's own. The last word of an origin identifies one run, the words
    before it what starts such runs, such as a DAG.
    `pins` are versions to read by location, instead of the newest; an input that was applied at a newer version is read
    at that version, while it exists.
    """

    mode: Annotated[
        Mode | None,
        BeforeValidator(requested_mode),
        Field(description="how changes are found: by comparing everything, or from the changes of the inputs"),
    ] = None
    on_interrupted: Annotated[
        OnInterrupted,
        Field(description="resume an unfinished run at its own input versions, or abandon it and start a new one"),
    ] = OnInterrupted.RESUME
    if_running: Annotated[
        IfRunning, Scope.NO_FORM_FIELD, Field(description="what to do while another owner holds the run")
    ] = IfRunning.REFUSE
    priority: Annotated[
        int,
        Scope.NO_FORM_FIELD,
        Field(ge=1, le=100, description="of a refresh that is queued, 1 to 100: the highest goes first"),
    ] = 50
    take_over: Annotated[
        bool,
        Scope.NO_FORM_FIELD,
        Field(description="take an unfinished run over from its owner, even a live one or the tasks of a DAG run"),
    ] = False
    only_run: Annotated[
        str | None,
        Scope.NO_FORM_FIELD,
        Field(description="only the unfinished run of this id, to resume or abandon it; no new one is started"),
    ] = None
    force: Annotated[bool, Field(description="run although no input has changed, and accept a mass delete")] = False
    strict: Annotated[bool, Field(description="fail instead of reading everything")] = False
    workers: Annotated[PositiveInt, Scope.NO_FORM_FIELD, Field(description="units merged in parallel")] = 2
    until: Annotated[
        str | None,
        Pattern(TIME_OF_DAY),
        AfterValidator(_time_or_none),
        Field(description="stop between two chunks at this time of day in UTC, such as 06:00; the next run continues"),
    ] = None
    budget_seconds: Annotated[
        int | None, Field(ge=1, description="stop between two chunks after so many seconds; the next run continues")
    ] = None
    budget_bytes: Annotated[
        str | None,
        Pattern(AMOUNT),
        AfterValidator(_amount_or_none),
        Field(description="stop between two chunks after so much was written, such as 200 GB; the next run continues"),
    ] = None
    no_budget: Annotated[
        bool,
        Field(description="without the budget of the definition, which the three options above replace"),
    ] = False
    origin: Annotated[
        str | None,
        Scope.APPLICATION,
        Field(description="what the refresh is started for: a run of the same origin is resumed at once"),
    ] = None
    scheduled: Annotated[
        bool, Scope.APPLICATION, Field(description="started by a schedule: failures count towards suspension")
    ] = False
    pins: Annotated[VersionVector, Scope.PROCESS] = {}
    waiting: Annotated[Serves, Scope.PROCESS] = Serves.EQUAL

    @property
    def serves(self) -> Serves:
        """Which requests that wait it serves: a schedule has no options of its own."""
        return Serves.FIRST if self.scheduled and self.waiting is Serves.EQUAL else self.waiting

    def budget(self, defined: Budget | None) -> Budget | None:
        """The budget that is asked for, else the one of the definition."""
        given = {"until": self.until, "seconds": self.budget_seconds, "bytes": self.budget_bytes}
        if any(given.values()):
            return Budget.model_validate(given)
        return None if self.no_budget else defined

    def yields_to(self, origin: str | None) -> bool:
        """Whether to skip this refresh while a run for `origin` is in progress.

        Of the runs that one schedule starts, the first brings everything up to date. In a cascade, where inputs are
        pinned for all, none is skipped: a definition downstream would join old and new data.
        """
        if self.if_running is IfRunning.SKIP:
            return True
        return self.scheduled and not self.pins and _same_schedule(self.origin, origin)


class RunRequest(Request):
    """What the command `run`, a DAG run or an application is asked for: a refresh, or only a comparison."""

    compare_only: Annotated[
        bool, Field(description="count and show differences between target and query; write nothing")
    ] = False


def _same_schedule(one: str | None, other: str | None) -> bool:
    schedule, _, _ = (one or "").rpartition(" ")
    return bool(schedule) and schedule == (other or "").rpartition(" ")[0]
