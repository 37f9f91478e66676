"""What commands and callers get back: one set of models for tables, JSON, and Python.

Fields never change their meaning; times are aware UTC; names and values are those of the stored records.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BeforeValidator

from airflow_refresh_provider.core.changes.pins import Digests
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.plan.plan import ChangeCounts
from airflow_refresh_provider.core.run.status import RefreshStatus
from airflow_refresh_provider.core.text.stored import Stored
from airflow_refresh_provider.core.text.stored import to_json_value as told


class Outcome(StrEnum):
    """How a refresh or a cascade ended. Only a definition of a cascade is skipped."""

    SUCCEEDED = "succeeded"
    NOTHING_TO_DO = "nothing_to_do"
    SKIPPED = "skipped"
    FAILED = "failed"
    REFUSED = "refused"
    INTERRUPTED = "interrupted"
    ABANDONED = "abandoned"


class Rows(Stored):
    """Rows of a whole refresh, over all its attempts."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    unchanged: int = 0


class ChunkCounts(Stored):
    """Chunks of the whole refresh that are in the target, and those this attempt found already there."""

    done: int = 0
    skipped: int = 0


class RunResult(Stored):
    """One refresh. `rows` and `chunks.done` count the whole run; `chunks.skipped`, times and stages this attempt.

    Done by the tasks of a DAG run, `seconds` are from the start of the run to its end, and the stages the last task's.

    `mode` is how it was done, and `mode_reason` why; `windows` are the versions (from, to] read of each input, or the
    digests of its lists of files, when that was incremental; `lag_seconds` is how far the target was behind its inputs
    when it ended, `late` whether that was more than its `target_lag`.
    """

    run_id: str | None
    name: str
    outcome: Outcome
    mode: str = "full"
    mode_reason: str | None = None
    generation: int
    resumed: bool = False
    rows: Rows = Rows()
    chunks: ChunkCounts = ChunkCounts()
    input_versions: Digests = {}
    windows: dict[str, tuple[int | str, int | str]] = {}
    target_version: int | None = None
    published_version: int | None = None
    lag_seconds: float | None = None
    late: bool = False
    seconds: float = 0.0
    stages: dict[str, float] = {}
    reason: str | None = None


class ErrorReport(Stored):
    """An error: what failed, how the data was left, what to do next."""

    code: str
    message: str
    left: str
    next: str


class CascadeStep(Stored):
    """What became of one definition of a cascade: the `result` that `run` gives, or the `error`.

    Skipped is one that reads the target of another which was not refreshed; `reason` names that.
    """

    name: str
    outcome: Outcome
    reason: str | None = None
    result: RunResult | None = None
    error: ErrorReport | None = None


class CascadeResult(Stored):
    """Every definition of a cascade in the order of its refreshes; `outcome` is the worst of them, or succeeded when
    any was.
    """

    outcome: Outcome
    refreshes: tuple[CascadeStep, ...]


class RunStatus(Stored):
    """A run in progress, or interrupted. `live`: its owner gave a sign of life lately.

    `origin` names what it is made for, such as a DAG run. `kept_until`: nobody but the tasks of that may go on with it
    before, whether one is at work now or not.
    """

    run_id: str
    stage: str
    owner: str | None
    live: bool
    origin: str | None = None
    kept_until: datetime | None = None
    started_at: datetime
    generation: int
    attempts: int
    chunks_done: int
    chunks_total: int | None


class DefinitionStatus(Stored):
    """One definition, where it stands and what is published.

    `state` is as stored; `status` is what it is doing, `status_text` how far it is.
    """

    name: str
    target: str
    state: str
    status: RefreshStatus
    status_text: str
    suspended: str | None = None
    paused: bool = False
    generation: int
    run: RunStatus | None = None
    published_version: int | None = None
    published_at: datetime | None = None
    input_versions: Digests = {}
    definition_hash: str
    definition: Definition


class RegistrationOutcome(StrEnum):
    """How registering a definition ended. After a change the next run compares everything."""

    REGISTERED = "registered"
    CHANGED = "changed"
    UNCHANGED = "unchanged"


class Registration(Stored):
    """One registered definition."""

    name: str
    target: str
    outcome: RegistrationOutcome
    definition_hash: str


class DueReport(Stored):
    """Whether a refresh is due, and why or why not: `cause` for programs, `reason` for people.

    `next_at`: when it will be if nothing else happens, null when not by itself. `lag_seconds` is null before the first
    refresh.
    """

    name: str
    due: bool
    cause: str
    reason: str
    next_at: datetime | None = None
    lag_seconds: float | None = None


class InputLag(Stored):
    """An input: the version that was applied and the newest, and for how long changes of it have been waiting.

    `upstream` is the definition whose target it is, if it is one. `kept_until`: from then on the changes may be gone,
    and the next refresh compares everything; null when none wait.
    """

    name: str
    applied: int | str | None
    newest: int | str | None
    lag_seconds: float
    kept_until: datetime | None = None
    upstream: str | None = None


class Freshness(Stored):
    """How far a target is behind its inputs.

    Until `confirmed_at` it held all that its inputs did. `late`: `lag_seconds` is more than `target_lag_seconds`.
    `ready_in_seconds`: how long the next refresh may take, judged by the last ones. `nothing_to_read`: why what was
    refreshed is no longer in the target's place, where it is not; then nobody knows how far that is behind. `error` is
    why nothing of this is known.
    """

    name: str
    nothing_to_read: str | None = None
    confirmed_at: datetime | None = None
    lag_seconds: float | None = None
    target_lag_seconds: float | None
    late: bool = False
    ready_in_seconds: float | None = None
    inputs: tuple[InputLag, ...] = ()
    error: ErrorReport | None = None


class VnodeProgress(Stored):
    """How far one vnode is. Rows that were right already are counted for the run as a whole only."""

    vnode: int
    stage: str
    unit: int
    chunk: int
    generation: int
    main_position: int | None
    staging_position: int | None
    rows: ChangeCounts
    bytes: int
    commit_version: int | None
    at: datetime


class ProgressReport(Stored):
    """The run in progress, else the last one, which has no `stage`; totals are null before they are known."""

    name: str
    run_id: str | None
    stage: str | None
    chunks_done: int = 0
    chunks_total: int | None = None
    rows_done: int = 0
    rows_total: int | None = None
    vnodes: tuple[VnodeProgress, ...] = ()


class Rebuilt(ProgressReport):
    """The progress as it was written anew. `restored`: the control tables had lost where the last refresh ended, and
    know it again; `reason` says what the next refresh makes of it, or why nothing was restored.
    """

    restored: bool
    reason: str


class HistoryEntry(Stored):
    """One finished run; `reason` says why it was abandoned or refused."""

    run_id: str | None
    outcome: Outcome
    at: datetime
    generation: int
    reason: str | None = None
    result: RunResult | None = None


class RecoveryOutcome(StrEnum):
    """How the recovery of one definition ended."""

    RESUMED = "resumed"
    ABANDONED = "abandoned"
    PUBLISHED = "published"  # it was complete in the target
    CLEANED_UP = "cleaned_up"  # it was published, and its staging was left
    LIVE = "live"  # it has an owner
    PAUSED = "paused"
    RESETTING = "resetting"  # the definition is being dropped
    CLEAN = "clean"  # there was no run
    FAILED = "failed"


class Recovery(Stored):
    """What `recover` did with the run of one definition; `error` if it failed."""

    name: str
    run_id: str | None
    outcome: RecoveryOutcome
    reason: str
    result: RunResult | None = None
    error: ErrorReport | None = None


JsonRow = Annotated[dict[str, Any] | None, BeforeValidator(told)]


class DifferenceSample(Stored):
    """A row that differs: `op` is what a refresh would do (I, U, D)."""

    op: str
    desired: JsonRow
    found: JsonRow


class StartedRun(Stored):
    """A run that was begun, or gone on with, and waits for its next phase."""

    run_id: str
    name: str
    resumed: bool
    reason: str | None


class UnitOfWork(Stored):
    """One unit for whoever merges it: its number, its chunks, and the rows they change (0 = known only afterwards)."""

    unit: int
    chunks: int
    rows: int


class Differences(Stored):
    """Target against query at one set of input versions; nothing was written.

    `bytes`: the data files of inputs and target together, null where a log does not tell.
    """

    name: str
    target: str
    target_version: int | None
    input_versions: Digests
    rows: Rows
    source_rows: int
    target_rows: int
    equal: bool
    samples: tuple[DifferenceSample, ...] = ()
    bytes: int | None = None
    seconds: float


class Dropped(Stored):
    """What dropping a definition did. `kept_because`: why a target that was to be deleted was not."""

    name: str
    target: str
    target_deleted: bool
    kept_because: str | None = None
    run_abandoned: str | None = None
