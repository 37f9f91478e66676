"""What administrative commands return: those on definitions, on interrupted runs and on the Spark server."""

from __future__ import annotations

from enum import StrEnum

from airflow_refresh_provider.core.run.explanation import Explanation
from airflow_refresh_provider.core.run.notice import Notice
from airflow_refresh_provider.core.run.reports import ProgressReport
from airflow_refresh_provider.core.run.results import ErrorReport, RunResult
from airflow_refresh_provider.core.text.stored import Stored


class Validated(Stored):
    """A definition that passed all checks that need no server. `notices` are about its query.

    `explanation`: which inputs it follows, as far as the text of the query says, and what a change would win.
    """

    file: str
    name: str
    target: str
    definition_hash: str
    explanation: Explanation
    notices: tuple[Notice, ...] = ()


class RegistrationOutcome(StrEnum):
    """How registering a definition ended. After a change the next run compares everything."""

    REGISTERED = "registered"
    CHANGED = "changed"
    UNCHANGED = "unchanged"


class Registration(Stored):
    """One registered definition. `notices` are about its query."""

    name: str
    target: str
    outcome: RegistrationOutcome
    definition_hash: str
    notices: tuple[Notice, ...] = ()


class RecoveryOutcome(StrEnum):
    """How the recovery of one definition ended."""

    RESUMED = "resumed"
    ABANDONED = "abandoned"
    PUBLISHED = "published"  # it was complete in the target
    CLEANED_UP = "cleaned_up"  # it was published, and its staging was left
    LIVE = "live"  # it has an owner
    PAUSED = "paused"
    BUDGET_SPENT = "budget_spent"  # the next run continues it
    CANCELLED = "cancelled"  # by a person; a refresh resumes it
    RESETTING = "resetting"  # the definition is being dropped
    CLEAN = "clean"  # there was no run
    FAILED = "failed"


class Recovery(Stored):
    """What `recover`, `abandon` or `cancel` did with the run of one definition; `error` if it failed."""

    name: str
    run_id: str | None
    outcome: RecoveryOutcome
    reason: str
    result: RunResult | None = None
    error: ErrorReport | None = None


class Rebuilt(ProgressReport):
    """The progress after it was rebuilt. `restored`: the control tables had no record of the last refresh, which was
    read from the target's log; `reason` is how the next refresh continues, or why nothing was restored.
    """

    restored: bool
    reason: str


class Dropped(Stored):
    """One dropped definition. `kept_reason`: why a target was not deleted although that was requested.

    `files_left`: how many files are still in the folder of a deleted target, because its log does not name them;
    `left_example` is one of them.
    """

    name: str
    target: str
    target_deleted: bool
    kept_reason: str | None = None
    files_left: int = 0
    left_example: str | None = None
    run_abandoned: str | None = None


class ServerReport(Stored):
    """The embedded Spark server: whether it runs, and where to connect."""

    running: bool
    url: str | None
    pid: int | None
    home: str
    log: str


class RequestedRefresh(Stored):
    """A refresh that was requested on the page: `started` is what does it; `waits`: why that does not start yet.

    `request_id`: the request in the queue, where it waits for the run in progress to end.
    """

    name: str
    started: str
    waits: str | None = None
    request_id: str | None = None


class PageReport(Stored):
    """The page that was served at `url`, until it was ended."""

    url: str
