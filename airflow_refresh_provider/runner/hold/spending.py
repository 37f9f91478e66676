"""What a run has spent in all: stored with it, stored with the progress of its chunks, and not stored yet."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from airflow_refresh_provider.core.run.record import Run
from airflow_refresh_provider.core.run.spent import Spent, total
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.control import ProgressRow
from airflow_refresh_provider.runner.hold.tenure import Tenure


def spent_by(tenure: Tenure, run: Run) -> Spent:
    """What a run has spent that this owner ends. The progress is read only where others have applied chunks."""
    meter = tenure.meter
    own = total((run.spent, meter.unstored(), *meter.chunks.values()))
    return own + _of_others(tenure.ports, tenure.name, run, {tenure.generation, *meter.chunks})


def spent_without_owner(ports: Ports, name: str, run: Run) -> Spent:
    """What a run has spent, as far as it is stored."""
    return run.spent + _of_others(ports, name, run, set())


def of_chunks(rows: Iterable[ProgressRow], but: Collection[int] = ()) -> Spent:
    """What is stored with the progress of chunks, those of some generations left out."""
    return total(Spent.model_validate_json(row.spent) for row in rows if row.spent and row.generation not in but)


def _of_others(ports: Ports, name: str, run: Run, own: set[int]) -> Spent:
    if run.frozen is None or set(run.generations) <= own:
        return Spent()
    return of_chunks(ports.store.progress(name, run.run_id), own)
