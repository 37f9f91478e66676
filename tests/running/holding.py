"""Lets a test hold or break the tasks of its DAG: files in its folder say at which point they wait or fail."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

from airflow_refresh_provider.operators.refresh_operators import RefreshOperator
from airflow_refresh_provider.ports.watch import Committed
from airflow_refresh_provider.runner.hold import leases
from airflow_refresh_provider.runner.hold.tenure import Tenure
from airflow_refresh_provider.task_context.task_log import TaskLog

STARTED, PREPARE, CHUNK, PUBLISH = "started", "prepare", "chunk", "publish"
"""A run started or loaded, and not parked yet; the start of a load; after a chunk; the start of `finish`."""
FAIL = "fail"
_LIMIT_SECONDS = 180
_STOPPED = threading.Event()
"""Set when the task of this process is asked to stop: its other threads, which no signal reaches, wait no more."""


def obey(folder: str) -> None:
    """Called by the DAG file, and so in every process that runs one of its tasks."""
    committed, stage, park, on_kill = TaskLog.committed, TaskLog.stage, leases.park, RefreshOperator.on_kill

    def obedient_committed(self: TaskLog, chunk: Committed) -> None:
        committed(self, chunk)
        if (Path(folder) / FAIL).exists():
            raise RuntimeError("asked to fail")
        _wait(Path(folder), CHUNK)

    def obedient_stage(
        self: TaskLog, name: str, rows: int | None = None, chunks: int | None = None, *, part: str = "chunk"
    ) -> None:
        stage(self, name, rows, chunks, part=part)
        _wait(Path(folder), name)

    def obedient_park(tenure: Tenure) -> None:
        _wait(Path(folder), STARTED)
        park(tenure)

    def obedient_on_kill(self: RefreshOperator) -> None:
        _STOPPED.set()
        on_kill(self)

    RefreshOperator.on_kill = obedient_on_kill  # type: ignore[method-assign, assignment]
    TaskLog.committed = obedient_committed  # type: ignore[method-assign]
    TaskLog.stage = obedient_stage  # type: ignore[method-assign]
    leases.park = obedient_park


def hold_file(point: str) -> str:
    """The file that makes tasks wait at a point."""
    return f"hold-{point}"


def _wait(folder: Path, point: str) -> None:
    until = time.monotonic() + _LIMIT_SECONDS
    while (folder / hold_file(point)).exists() and not _STOPPED.is_set() and time.monotonic() < until:
        (folder / f"held-{os.getpid()}").touch()
        time.sleep(0.1)
