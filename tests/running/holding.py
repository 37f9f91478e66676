"""Lets a test hold or break the merge tasks of its DAG: files in its folder say what they do after a chunk."""

from __future__ import annotations

import os
import time
from pathlib import Path

from airflow_refresh_provider.operators.task_log import TaskLog
from airflow_refresh_provider.ports.watch import Committed

HOLD, FAIL = "hold", "fail"
_LIMIT_SECONDS = 180


def obey(folder: str) -> None:
    """Called by the DAG file, and so in every process that runs one of its tasks."""
    committed = TaskLog.committed

    def obedient(self: TaskLog, chunk: Committed) -> None:
        committed(self, chunk)
        if (Path(folder) / FAIL).exists():
            raise RuntimeError("told to fail")
        _wait(Path(folder))

    TaskLog.committed = obedient  # type: ignore[method-assign]


def _wait(folder: Path) -> None:
    until = time.monotonic() + _LIMIT_SECONDS
    while (folder / HOLD).exists() and time.monotonic() < until:
        (folder / f"held-{os.getpid()}").touch()
        time.sleep(0.1)
