"""Ways in which a run ends without being published, and the events that history is made of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from airflow_refresh_provider.core.lifecycle import Event, State
from airflow_refresh_provider.core.results import HistoryEntry, Outcome, RunResult
from airflow_refresh_provider.errors import Lost, RefreshError
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.control import EventRow
from airflow_refresh_provider.ports.log import LogGap
from airflow_refresh_provider.runner.tenure import Tenure

RUN_ENDED = "run_ended"


def abandon(tenure: Tenure, reason: str, outcome: Outcome = Outcome.ABANDONED) -> None:
    """Give the run up: its staging goes, history says why. Everything it could still write was fenced before."""
    run = tenure.run()
    ended(tenure.ports, tenure.name, run.run_id, run.generation, outcome, reason)
    tenure.write_record(Event.ABANDON, lambda record: record.after(Event.ABANDON, run=None))
    tenure.ports.staging.drop(run.plan.staging)
    tenure.ports.store.clear_beats(tenure.name, run.run_id)


def release(tenure: Tenure) -> None:
    """Leave the run for anyone to resume at once."""
    run = tenure.run()
    lease = run.lease.model_copy(update={"owner": None, "session": None})
    tenure.write(Event.RELEASE, lease=lease, claims={})


def let_go(tenure: Tenure) -> None:
    """Release the run if that is still possible; what went wrong before is what the caller has to hear."""
    with suppress(RefreshError):
        release(tenure)


def let_go_or_lose(tenure: Tenure) -> None:
    """As `let_go`, but raises Lost: to one who was taken over, that is what went wrong, whatever Spark has told him."""
    try:
        release(tenure)
    except Lost:
        raise
    except RefreshError:
        return


@contextmanager
def let_go_on_failure(tenure: Tenure) -> Iterator[None]:
    """Release the run when the work on it fails; one who has lost it touches nothing."""
    try:
        yield
    except Lost:
        raise
    except (RefreshError, LogGap, KeyboardInterrupt):
        let_go(tenure)
        raise


def must_be_kept(tenure: Tenure) -> bool:
    """Whether the run has frozen staging: from then on it is resumed, not given up."""
    return tenure.record().state is State.FINISHING


def ended(
    ports: Ports,
    name: str,
    run_id: str,
    generation: int,
    outcome: Outcome,
    reason: str | None = None,
    result: RunResult | None = None,
) -> None:
    """Write the end of a run into the events; the last such row of a run counts."""
    at = ports.clock.now()
    entry = HistoryEntry(run_id=run_id, outcome=outcome, at=at, generation=generation, reason=reason, result=result)
    ports.store.add_event(
        EventRow(
            name=name,
            run_id=run_id,
            event=RUN_ENDED,
            generation=generation,
            at=at,
            detail=entry.model_dump_json(),
        )
    )
