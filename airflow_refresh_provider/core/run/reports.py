"""What is known of definitions and their runs: status, progress, freshness, whether a refresh is due."""

from __future__ import annotations

from datetime import datetime

from airflow_refresh_provider.core.changes.pins import Digests
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.plan.plan import ChangeCounts
from airflow_refresh_provider.core.run.results import ErrorReport
from airflow_refresh_provider.core.run.status import RefreshStatus
from airflow_refresh_provider.core.text.stored import Stored


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
