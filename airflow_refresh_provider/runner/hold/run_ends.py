"""The events that history consists of: how runs have ended, and what they have cost."""

from __future__ import annotations

from airflow_refresh_provider.core.run.record import Run
from airflow_refresh_provider.core.run.results import HistoryEntry, Outcome, RunResult, StoredHistory
from airflow_refresh_provider.core.run.spent import Spent
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.control import EventRow
from airflow_refresh_provider.runner.facts.ended_runs import RUN_ENDED
from airflow_refresh_provider.runner.hold.spending import spent_without_owner


def record_end(
    ports: Ports,
    name: str,
    run: Run,
    generation: int,
    outcome: Outcome,
    reason: str | None = None,
    result: RunResult | None = None,
    spent: Spent | None = None,
) -> None:
    """Write the end of a run into the events; the last such row of a run counts. `spent`: by default what is stored."""
    at = ports.clock.now()
    entry = HistoryEntry(
        name=name,
        run_id=run.run_id,
        outcome=outcome,
        at=at,
        generation=generation,
        attempts=run.attempts,
        attempt_generation=run.attempt_generation,
        owners=run.owners,
        requested_mode=run.plan.mode.value,
        mode=run.mode.value,
        elapsed_seconds=run.elapsed(at),
        spent=spent or spent_without_owner(ports, name, run),
        bytes_to_read=run.bytes_to_read,
        reason=reason,
        result=result,
        requests=run.requests,
    )
    ports.store.add_event(end_of(entry))


def end_of(entry: HistoryEntry) -> EventRow:
    """The event of an ended run: its summary, and beside it the figures that costs are added up from."""
    done = entry.result if entry.outcome is Outcome.SUCCEEDED else None
    rows, spent = (done.rows if done else None), entry.spent
    return EventRow(
        name=entry.name,
        run_id=entry.run_id,
        event=RUN_ENDED,
        generation=entry.generation,
        at=entry.at,
        detail=StoredHistory(entry=entry).model_dump_json(),
        mode=(done.mode or "") if done else None,
        fell_back=int(done.fell_back) if done else None,
        inserted=rows.inserted if rows else None,
        updated=rows.updated if rows else None,
        deleted=rows.deleted if rows else None,
        worked_ms=round(1000 * (spent.worked_seconds if spent else entry.elapsed_seconds)),
        spark_ms=round(1000 * spent.spark_seconds) if spent else None,
        bytes_to_read=entry.bytes_to_read,
        bytes_written=spent.bytes_written if spent else None,
    )
