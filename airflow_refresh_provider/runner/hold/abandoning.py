"""Abandoning a run that was cancelled for good: by its former owner, which has Spark at hand, else by the next one."""

from __future__ import annotations

from contextlib import suppress

from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.errors import RefreshError
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.table_log import LogGap
from airflow_refresh_provider.runner.hold.leases import release
from airflow_refresh_provider.runner.hold.run_sessions import close
from airflow_refresh_provider.runner.hold.takeover import take_over


def abandon_cancelled(ports: Ports, name: str, run_id: str) -> None:
    """Abandon a run, if it was cancelled for good. A run that is sealed is released, for the next one to publish."""
    snapshot = ports.store.read(name)
    record = snapshot.record
    run = record.run if record else None
    if record is None or run is None or run.run_id != run_id or not (run.cancelled and run.cancelled.abandon):
        return
    if held := take_over(ports, snapshot, record, run, Request()):
        close(held.session)
        release(held.tenure)


def abandon_quietly(ports: Ports, name: str, run_id: str) -> None:
    """As `abandon_cancelled`; what fails is left to the next run, which finds the request in the record."""
    with suppress(RefreshError, LogGap):
        abandon_cancelled(ports, name, run_id)
