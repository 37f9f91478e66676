"""Reports on definitions and their runs: status, progress, freshness, whether a refresh is due."""

from __future__ import annotations

from datetime import datetime

from airflow_refresh_provider.core.changes.pins import Digests, IgnoredFiles
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.plan.plan import ChangeCounts
from airflow_refresh_provider.core.run.budget import RunBudget
from airflow_refresh_provider.core.run.cancellation import Cancellation
from airflow_refresh_provider.core.run.forecast import Forecast
from airflow_refresh_provider.core.run.freshness_state import FreshnessState
from airflow_refresh_provider.core.run.health import Health
from airflow_refresh_provider.core.run.last_run import LastRun
from airflow_refresh_provider.core.run.notice import Notice
from airflow_refresh_provider.core.run.queue import Queue
from airflow_refresh_provider.core.run.reading import ReadingLine
from airflow_refresh_provider.core.run.results import ErrorReport, Outcome
from airflow_refresh_provider.core.run.status import RefreshStatus
from airflow_refresh_provider.core.run.steering import Offer
from airflow_refresh_provider.core.text.stored import Stored


class RunStatus(Stored):
    """A run in progress, or interrupted. `live`: its owner has sent a recent heartbeat.

    `origin` is what it was started for, such as a DAG run. `kept_until`: until then only tasks of the origin may resume
    it. `cancelled`: a person has cancelled it, and no owner has resumed it since. `budget` is what it may spend; its
    `spent` says why it stops. `offers`: what can be done with it now.
    """

    run_id: str
    stage: str
    owner: str | None
    live: bool
    origin: str | None = None
    kept_until: datetime | None = None
    cancelled: Cancellation | None = None
    started_at: datetime
    generation: int
    attempts: int
    chunks_done: int
    chunks_total: int | None
    percent: float | None = None
    rows_per_second: float | None = None
    seconds_left: float | None = None
    budget: RunBudget | None = None
    notices: tuple[Notice, ...] = ()
    offers: tuple[Offer, ...] = ()


class Readable(Stored):
    """The version of a target to read its last refresh at. `until`: from then on Spark refuses it; null for the newest.

    It has the rows of the published version, which may be older: a seal, or maintenance by others, moves no rows.
    """

    definition: Definition
    version: int
    until: datetime | None


class VnodeProgress(Stored):
    """The progress of one vnode. Unchanged rows are counted only for the whole run."""

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
    """The progress of the current run, or of the last one, which has no `stage`. Totals are null until known.

    `percent`, 0 to 100, is of rows where they are known, else of chunks. `rows_per_second` is that of the newest chunks
    of this attempt, `seconds_left` follows from it; both are null before two chunks are done, and while no process
    works on the run. `health` is how a run in progress is, `offers` what can be done with it.
    `outcome` is that of a run that has ended, or has failed, stopped or been cancelled and is kept; `failure` is why it
    was not published. `budget` is that of a run in progress. `throttle`: how many rows a second runs may change;
    `waits`: until when units wait for that, by unit.
    """

    name: str
    run_id: str | None
    stage: str | None
    chunks_done: int = 0
    chunks_total: int | None = None
    rows_done: int = 0
    rows_total: int | None = None
    percent: float | None = None
    rows_per_second: float | None = None
    seconds_left: float | None = None
    health: Health | None = None
    outcome: Outcome | None = None
    failure: str | None = None
    budget: RunBudget | None = None
    throttle: int | None = None
    waits: dict[int, datetime] = {}
    offers: tuple[Offer, ...] = ()
    vnodes: tuple[VnodeProgress, ...] = ()


class DueReport(Stored):
    """Whether a refresh is due, and why or why not: `cause` for programs, `reason` for people.

    `next_at`: when it becomes due without further changes, null if it does not. `lag_seconds` is null before the first
    refresh. `kept_until`: later some of the changes that are not applied may be deleted; null if they do not expire, or
    there are none. `error`: why it could not be determined, when several definitions were asked for.
    """

    name: str
    due: bool
    cause: str
    reason: str
    next_at: datetime | None = None
    lag_seconds: float | None = None
    kept_until: datetime | None = None
    error: ErrorReport | None = None


class InputLag(Stored):
    """An input: the applied version, the newest one, and the age of the oldest change that is not applied.

    `upstream` is the definition whose target it is, if any. `kept_until`: later the changes may be deleted, and then
    the next refresh compares everything; null if all changes are applied. `expired`: that moment has passed, or a
    VACUUM has already deleted them.
    """

    name: str
    applied: int | str | None
    newest: int | str | None
    lag_seconds: float
    kept_until: datetime | None = None
    expired: bool = False
    upstream: str | None = None


class Freshness(Stored):
    """How far a target is behind its inputs.

    The target had all changes that its inputs had at `confirmed_at`. `late`: `lag_seconds` is more than
    `target_lag_seconds`. `kept_until`: later some of the changes that are not applied may be deleted; null if they do
    not expire, or there are none. `expected_seconds`: the estimated duration of the next refresh. `unreadable_reason`:
    why the published version can no longer be read at the target's location; the lag is unknown then.
    `overwritten_reason`: why the target may have other rows than the last refresh wrote; it is then as of no moment.
    `readable_until`: from then on Spark refuses the version of the last refresh that readers have, by `published()` or
    the view; null while that is the newest of the target. `state`: how fresh it is in one word. `error`: why none of
    this could be determined.
    """

    name: str
    state: FreshnessState
    unreadable_reason: str | None = None
    overwritten_reason: str | None = None
    readable_until: datetime | None = None
    confirmed_at: datetime | None = None
    lag_seconds: float | None = None
    target_lag_seconds: float | None
    late: bool = False
    kept_until: datetime | None = None
    expected_seconds: float | None = None
    inputs: tuple[InputLag, ...] = ()
    error: ErrorReport | None = None


class DefinitionStatus(Stored):
    """One definition, its run, what is published, and how its table is.

    `state` is as stored; `status` is derived from it and the run, `status_text` includes the progress. `throttle`: how
    many rows a second its runs may change, null without a limit. `queue`: the requests that wait for the run in
    progress to end, the next one first. `last_run` is the newest run that has ended, or has failed, stopped or been
    cancelled and is kept. `health` is the whole in one word; it, `freshness`, `due` and `forecast` are null where
    inputs and target were not read. `ignored_files` lay in the folders of inputs at the last refresh and were not
    read. `notices` are about its query. `reading`: how other programs read what is
    published; only `show` has both. `looked_at`: when inputs and target were read, null where they were not.
    `refreshed_by`: the DAG that has started the last refresh which no person has started.
    """

    name: str
    target: str
    state: str
    status: RefreshStatus
    status_text: str
    suspended: str | None = None
    paused: bool = False
    throttle: int | None = None
    queue: Queue = ()
    generation: int
    run: RunStatus | None = None
    health: Health | None = None
    last_run: LastRun | None = None
    freshness: Freshness | None = None
    due: DueReport | None = None
    forecast: Forecast | None = None
    looked_at: datetime | None = None
    published_version: int | None = None
    published_at: datetime | None = None
    refreshed_by: str | None = None
    input_versions: Digests = {}
    ignored_files: dict[str, IgnoredFiles] = {}
    notices: tuple[Notice, ...] = ()
    reading: tuple[ReadingLine, ...] = ()
    definition_hash: str
    definition: Definition
