"""A request that means one run: it is refused once that run has ended, and touches no later one."""

from __future__ import annotations

from airflow_refresh_provider.core.run.record import Record, Run
from airflow_refresh_provider.errors import Refused


def the_run(record: Record, run_id: str) -> Run:
    """The run in progress, if it is the one that is meant. Raises Refused: the race was lost."""
    run, last = record.run, record.last_run
    if run is not None and run.run_id == run_id:
        return run
    how = f": {last.outcome.value}" if last and last.run_id == run_id else ""
    how += f", {last.reason}" if how and last and last.reason else ""
    other = f"; run {run.run_id} was started since, which is not touched" if run else ""
    raise Refused(
        "run_over",
        f"run {run_id} of {record.name} has ended{how}{other}",
        next=f"See its runs with `airflow-refresh history {record.name}`.",
    )


def check_only(record: Record, only_run: str | None) -> None:
    """Raises Refused where a request means a run that has ended."""
    if only_run is not None:
        the_run(record, only_run)
