"""Folders below the staging root: what they are called, and which of them nobody needs any more.

A definition has a folder; in it stands one for each run and each comparison. Those of runs are named by control, those
of comparisons tell by their own name when they were begun.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import pendulum

from airflow_refresh_provider.ports.bundle import Ports

COMPARISON_KEPT = timedelta(days=1)
"""Longer than any comparison takes: what is older was left by one that was killed."""

_COMPARISON = "compare-"
_MOMENT = "YYYYMMDD[T]HHmmss"


def of_run(ports: Ports, name: str, run_id: str) -> str:
    """The folder of one run."""
    return f"{_folder(ports, name)}/{run_id}"


def of_comparison(ports: Ports, name: str, comparison_id: str) -> str:
    """The folder of a comparison that begins now."""
    began = pendulum.instance(ports.clock.now()).in_timezone("UTC").format(_MOMENT)
    return f"{_folder(ports, name)}/{_COMPARISON}{began}-{comparison_id}"


def drop_orphans(ports: Ports, name: str) -> None:
    """Drop staging that no run names; a late statement of an old owner can make it anew after it was dropped.

    Folders are listed before control is read: what a younger run has staged meanwhile is not among them.
    """
    if not (folders := ports.staging.runs(_folder(ports, name))):
        return
    record = ports.store.read(name).record
    kept = record.run.plan.staging if record and record.run else None
    for folder in folders:
        if folder != kept and not _still_comparing(folder, ports.clock.now()):
            ports.staging.drop(folder)


def _folder(ports: Ports, name: str) -> str:
    return f"{ports.staging_root}/{name}"


def _still_comparing(folder: str, now: datetime) -> bool:
    name = folder.rpartition("/")[2]
    if not name.startswith(_COMPARISON):
        return False
    began = pendulum.from_format(name.removeprefix(_COMPARISON).partition("-")[0], _MOMENT)
    return now - began < COMPARISON_KEPT
