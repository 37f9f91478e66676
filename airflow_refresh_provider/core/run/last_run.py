"""How the last run of a definition came out that has ended, or has failed and is kept. Part of the stored record."""

from __future__ import annotations

from datetime import datetime

from airflow_refresh_provider.core.run.results import Outcome, Rows, RunResult
from airflow_refresh_provider.core.run.spent import Spent
from airflow_refresh_provider.core.text.stored import Stored


class LastRun(Stored):
    """A run that ended, or failed. `run_id` is null if it failed before it was started; `elapsed_seconds` is from the
    start of the run to `at`, with all attempts and the time between them. `code` and `reason` are those of the error.
    `origin` is that of a run that was cancelled. `spent` is null where it is not known.
    """

    run_id: str | None = None
    outcome: Outcome
    at: datetime
    attempts: int = 0
    elapsed_seconds: float | None = None
    spent: Spent | None = None
    mode: str | None = None
    rows: Rows = Rows()
    chunks: int = 0
    code: str | None = None
    reason: str | None = None
    origin: str | None = None

    @property
    def failed(self) -> bool:
        """Whether it ended with an error."""
        return self.outcome in (Outcome.FAILED, Outcome.REFUSED)

    @classmethod
    def succeeded(cls, result: RunResult, at: datetime) -> LastRun:
        """A published run."""
        return cls(
            run_id=result.run_id,
            outcome=result.outcome,
            at=at,
            attempts=result.attempts,
            elapsed_seconds=result.elapsed_seconds,
            spent=result.spent,
            mode=result.mode,
            rows=result.rows,
            chunks=result.chunks.done,
        )
