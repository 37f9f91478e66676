"""What a refresh, a cascade or a comparison returns, to callers in Python, as JSON and as tables.

Fields keep their meaning; times are aware UTC; names and values are those of the stored records.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from airflow_refresh_provider import errors
from airflow_refresh_provider.core.changes.pins import Digests, IgnoredFiles
from airflow_refresh_provider.core.plan.foreseen import Estimates, Foreseen
from airflow_refresh_provider.core.plan.reasons import ReasonCode
from airflow_refresh_provider.core.run.attempt import Attempts
from airflow_refresh_provider.core.run.notice import Notice
from airflow_refresh_provider.core.run.spent import Spent
from airflow_refresh_provider.core.text.stored import Stored, to_json_value

_KINDS: dict[str, type[errors.Explained]] = {
    name: kind for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, errors.Explained)
}


class Outcome(StrEnum):
    """How a refresh or a cascade ended.

    A queued refresh waits for the run in progress to end. Skipped are refreshes that were not started while another
    run was in progress, definitions of a cascade whose upstream was not refreshed, and scheduled runs of suspended
    definitions. A run whose budget is spent is kept: the next run continues it.
    """

    SUCCEEDED = "succeeded"
    NOTHING_TO_DO = "nothing_to_do"
    SKIPPED = "skipped"
    QUEUED = "queued"
    FAILED = "failed"
    REFUSED = "refused"
    INTERRUPTED = "interrupted"
    BUDGET_SPENT = "budget_spent"
    ABANDONED = "abandoned"
    CANCELLED = "cancelled"

    @classmethod
    def of(cls, error: errors.RefreshError) -> Outcome:
        """How a refresh ended that raised an error."""
        if isinstance(error, errors.Cancelled):
            return cls.CANCELLED
        return cls.REFUSED if isinstance(error, errors.Refused) else cls.FAILED


class Rows(Stored):
    """Rows of a whole refresh, over all its attempts."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    unchanged: int = 0


class ChunkCounts(Stored):
    """Chunks of the whole refresh that are in the target, and those that were there before this attempt."""

    done: int = 0
    skipped: int = 0


class RunResult(Stored):
    """One refresh. `rows` and `chunks.done` count the whole run; `chunks.skipped`, `seconds` and `stages` this attempt.

    In a phased DAG, `seconds` is from the start of the run to its end, and `stages` are those of the last task.

    `attempts` counts the start and the take-overs of the run, `owners` says who held it in each, `elapsed_seconds` is
    from its start to its end, with the time between attempts; `spent` is what it has cost. Without a run (nothing to
    do, skipped) there is no `run_id` and no `mode`, and nothing spent. `bytes_to_read` is the size of the files of its
    inputs that Spark was given to read: those with the changes in the windows, else all files of the versions; null
    where a log does not record it.

    `mode` is how it was done, `requested_mode` what was asked for, `mode_reason` why it was done so, and `mode_code`
    the code of that reason. `fell_back`: everything was read although the mode follows changes, and not because it was
    the first refresh, or asked for. `windows` are the versions (after, upto] of each input, or the digests of its lists
    of files, that an incremental refresh has read. `lag_seconds` is how far the target was behind its inputs at the
    end; `late`: that was more than its target lag. `ignored_files` lie in the folders of inputs and were not read.
    `notices` say what was done otherwise than the definition says. `touched`: how many values of the anchors the
    changes touch, where rows were found by these. `foreseen`: how it would be done, when it began, and `estimates`: how
    long it was foreseen to take either way, when that was decided last: at its start, or once it was known what the
    changes touch. `sampled`: how many values were computed again as a sample. `within_tolerance` of the unchanged rows
    differ from the query in the last digits of floating point. `requests` are the ids of those from the queue that it
    has served; of a queued refresh the id under which it waits.
    """

    run_id: str | None
    name: str
    outcome: Outcome
    mode: str | None = None
    requested_mode: str | None = None
    mode_reason: str | None = None
    mode_code: ReasonCode | None = None
    fell_back: bool = False
    foreseen: Foreseen | None = None
    estimates: Estimates = Estimates()
    generation: int
    resumed: bool = False
    rows: Rows = Rows()
    within_tolerance: int = 0
    touched: int | None = None
    sampled: int | None = None
    chunks: ChunkCounts = ChunkCounts()
    input_versions: Digests = {}
    windows: dict[str, tuple[int | str, int | str]] = {}
    ignored_files: dict[str, IgnoredFiles] = {}
    notices: tuple[Notice, ...] = ()
    target_version: int | None = None
    published_version: int | None = None
    lag_seconds: float | None = None
    target_lag_seconds: float | None = None
    late: bool = False
    seconds: float = 0.0
    attempts: int = 0
    owners: Attempts = ()
    elapsed_seconds: float = 0.0
    spent: Spent | None = None
    bytes_to_read: int | None = None
    stages: dict[str, float] = {}
    reason: str | None = None
    requests: tuple[str, ...] = ()


class HistoryEntry(Stored):
    """One ended run of the definition `name`; `reason` is why it was abandoned, refused or cancelled.

    A cancelled run that is resumed has another end later, which counts then.

    `elapsed_seconds` is from its start to its end, with all `attempts` and the time between them. `spent` is what it
    has cost, `bytes_to_read` as in its result; both are null in entries of earlier versions. `requests` are the ids of
    those from the queue that it was started for. `owners` says who held it in each attempt: all after the first have
    resumed it; `attempt_generation` is that with which the last one began. `requested_mode` is what was asked
    for, `mode` how it was done, or was to be done as far as that was decided. They are null, `attempt_generation` is 0,
    and there are no `owners`, in entries of earlier versions.
    """

    name: str
    run_id: str | None
    outcome: Outcome
    at: datetime
    generation: int
    attempts: int = 0
    owners: Attempts = ()
    requested_mode: str | None = None
    mode: str | None = None
    attempt_generation: int = 0
    elapsed_seconds: float = 0.0
    spent: Spent | None = None
    bytes_to_read: int | None = None
    reason: str | None = None
    result: RunResult | None = None
    requests: tuple[str, ...] = ()


class StoredHistory(Stored):
    """A history entry as the events table stores it. `format` is the version of the entry and of what is in it."""

    format: int = Field(default=6, le=6)
    entry: HistoryEntry


class StartedRun(Stored):
    """A run that was started or resumed by the first task of a phased DAG; `reason` is why it was resumed."""

    run_id: str
    name: str
    resumed: bool
    reason: str | None


class UnitOfWork(Stored):
    """One unit to merge: its number, its chunks, and the rows that they change (0: not known before)."""

    unit: int
    chunks: int
    rows: int


class ErrorReport(Stored):
    """An error: what failed, the state of the data, what to do next."""

    code: str
    message: str
    left: str
    next: str

    @classmethod
    def of(cls, error: errors.Explained) -> ErrorReport:
        """The parts of an error."""
        return cls(**error.parts)


class RefreshStep(Stored):
    """One definition of several that were refreshed: the `result` of its refresh, or the `error`.

    `reason` is why there was nothing to do, or why it was skipped: in a cascade, the definition upstream of it that was
    not refreshed.
    """

    name: str
    outcome: Outcome
    reason: str | None = None
    result: RunResult | None = None
    error: ErrorReport | None = None

    @classmethod
    def of(cls, name: str, ended: RunResult | errors.RefreshError) -> RefreshStep:
        """The step of a refresh, by its result or the error that it raised."""
        if isinstance(ended, RunResult):
            return cls(name=name, outcome=ended.outcome, reason=ended.reason, result=ended)
        return cls(name=name, outcome=Outcome.of(ended), reason=ended.message, error=ErrorReport.of(ended))

    @property
    def line(self) -> str:
        """How it ended."""
        took = f" in {self.result.seconds:.1f} s" if self.result else ""
        return f"{self.name}: {self.outcome}{took}{f', {self.reason}' if self.reason else ''}"


class RefreshesResult(Stored):
    """Several definitions: those of a cascade in the order of their refreshes, others by name.

    `outcome` is the worst one; `nothing_to_do` only if all have that.
    """

    outcome: Outcome
    refreshes: tuple[RefreshStep, ...]


JsonRow = Annotated[dict[str, Any] | None, BeforeValidator(to_json_value)]


class DifferenceSample(Stored):
    """A row that differs: `op` is what a refresh would do (I, U, D)."""

    op: str
    desired: JsonRow
    found: JsonRow


class Differences(Stored):
    """The target compared with its query at one set of input versions; nothing was written.

    `within_tolerance` of the unchanged rows differ in the last digits of floating point. `bytes`: the size of the data
    files of inputs and target, null if a log does not record it.
    """

    name: str
    target: str
    target_version: int | None
    input_versions: Digests
    rows: Rows
    source_rows: int
    target_rows: int
    within_tolerance: int = 0
    equal: bool
    samples: tuple[DifferenceSample, ...] = ()
    bytes: int | None = None
    seconds: float


class ApplicationError(ErrorReport):
    """An error with its class, for another process to raise."""

    kind: str

    def exception(self) -> errors.Explained:
        """The error to raise. A class that is unknown here becomes Failed, which is not retried."""
        return _KINDS.get(self.kind, errors.Failed)(self.code, self.message, left=self.left, next=self.next)


class ApplicationResult(Stored):
    """How a Spark application ended: exactly one of a refresh, a comparison or an error."""

    result: RunResult | None = None
    differences: Differences | None = None
    error: ApplicationError | None = None

    @classmethod
    def of(cls, ended: object) -> ApplicationResult:
        """The result or the error that a refresh or a comparison ended with."""
        match ended:
            case RunResult():
                return cls(result=ended)
            case Differences():
                return cls(differences=ended)
            case errors.Explained():
                return cls(error=ApplicationError(kind=type(ended).__name__, **ended.parts))
            case _:
                raise TypeError(f"{type(ended).__name__} is no result of an application")
