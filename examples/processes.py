"""The processes of an example: found by a mark that they inherit, so that nothing of it is left running."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterable
from pathlib import Path

import psutil

MARK = "AIRFLOW_REFRESH_EXAMPLE"
"""The environment variable that holds the folder of the example a process works for."""

_END_SECONDS = 10


def working_for(folder: Path) -> list[psutil.Process]:
    """Every process that was started for the example in this folder, whoever its parent is by now."""
    return [process for process in psutil.process_iter() if _mark_of(process) == str(folder)]


def must_be_alone(folder: Path) -> None:
    """End the program when an example is at work in this folder."""
    if found := working_for(folder):
        pids = ", ".join(str(process.pid) for process in found)
        sys.exit(
            f"{folder} is in use by the processes {pids}.\nNothing was started or changed.\n"
            "Stop the other `make up` or `make demo` with Ctrl-C; if it is gone, end these processes."
        )


def end(processes: Iterable[psutil.Process]) -> None:
    """Ask them to go, then make them go. Returns when they are gone, or cannot be helped."""
    left = list(processes)
    for act in (psutil.Process.terminate, psutil.Process.kill):
        for process in left:
            try:
                act(process)
            except psutil.NoSuchProcess:
                continue
        _, left = psutil.wait_procs(left, timeout=_END_SECONDS)


class Asked(SystemExit):
    """Somebody asked this program to stop."""


def heed_signals() -> None:
    """Make every request to stop unwind this program, so that it ends what it has started."""

    def leave(signum: int, _frame: object) -> None:
        raise Asked(128 + signum)

    for signum in _REQUESTS:
        signal.signal(signum, leave)


def ignore_signals() -> None:
    """Let nothing cut short the end, which has its limits."""
    for signum in _REQUESTS:
        signal.signal(signum, signal.SIG_IGN)


_REQUESTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _mark_of(process: psutil.Process) -> str | None:
    try:
        return process.environ().get(MARK)
    except psutil.Error:
        return None
