"""Runs that have ended, as a history has them: what they have cost differs."""

from __future__ import annotations

import uuid
from datetime import datetime
from random import Random

from airflow_refresh_provider.core.run.results import HistoryEntry, Outcome, Rows, RunResult
from airflow_refresh_provider.core.run.spent import Spent


def run_id(name: str, run: int) -> str:
    """Of the run of a definition with this number."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{name}-{run}"))


def ended(name: str, run: int) -> RunResult:
    """The result of a run that was published."""
    drawn = Random(f"{name}-{run}")
    seconds = drawn.randint(10_000, 20_000) / 1000
    return RunResult(
        run_id=run_id(name, run),
        name=name,
        outcome=Outcome.SUCCEEDED,
        mode="incremental",
        mode_reason="changes of orders in versions 17 to 18",
        generation=run,
        rows=Rows(inserted=run, updated=7, deleted=1, unchanged=100_000),
        input_versions={"orders": run, "customers": run},
        windows={"orders": (run, run + 1)},
        published_version=run,
        lag_seconds=3.0,
        seconds=seconds,
        attempts=1,
        elapsed_seconds=seconds,
        spent=Spent(worked_seconds=seconds, spark_seconds=drawn.randint(1, 9_999) / 1000, bytes_written=run),
        bytes_to_read=drawn.randint(1, 10**9),
        stages={name: drawn.randint(1, 9_999) / 1000 for name in ("start", "load", "merge", "publish")},
    )


def entry(name: str, run: int, at: datetime) -> HistoryEntry:
    """Its entry in the history."""
    result = ended(name, run)
    return HistoryEntry(
        name=name,
        run_id=result.run_id,
        outcome=result.outcome,
        at=at,
        generation=run,
        attempts=1,
        elapsed_seconds=result.elapsed_seconds,
        spent=result.spent,
        bytes_to_read=result.bytes_to_read,
        result=result,
    )
