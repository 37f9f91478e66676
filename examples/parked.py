"""Refreshes that the tasks of an ended Airflow have left: released, so that the command line resumes them at once."""

from __future__ import annotations

from airflow_refresh_provider.compose import refreshes
from airflow_refresh_provider.core.run.lifecycle import State
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.errors import RefreshError
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.runner.steps import one_task


def release(places: Places) -> None:
    """Release every unfinished refresh of a DAG run, and print which. Its tasks have ended, so it is fenced first."""
    release_all(refreshes(places).ports)


def release_all(ports: Ports) -> None:
    """As `release`, in these control tables."""
    for record in ports.store.records():
        if not _left(record):
            continue
        assert record.run is not None
        try:
            one_task.interrupt(ports, record.name, Request(origin=record.run.origin))
        except RefreshError as error:
            print(f"{record.name} was not released: {error.message}", flush=True)
            print(f"`airflow-refresh run {record.name} --take-over` resumes it.", flush=True)
        else:
            print(f"The refresh of {record.name} is unfinished; the next one resumes it.", flush=True)


def _left(record: Record) -> bool:
    """Whether a task of a DAG run holds the run, or it is kept for one."""
    run = record.run
    if run is None or run.origin is None or record.state is State.RESETTING:
        return False
    return bool(run.lease.owner or run.lease.parked_until or run.claims)
