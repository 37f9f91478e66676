"""The processes of an example: found by a mark that they inherit, so that nothing of it is left running."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import psutil

MARK = "AIRFLOW_REFRESH_EXAMPLE"
"""The environment variable that holds the folder of the example a process works for."""

_END_SECONDS = 10
_LOOK_EVERY = 0.1


def working_for(folder: Path) -> list[psutil.Process]:
    """Every process that was started for the example in this folder, whatever its parent is now."""
    return marked(MARK, str(folder))


def marked(variable: str, value: str) -> list[psutil.Process]:
    """Every process that was started with this value of an environment variable."""
    return [process for process in psutil.process_iter() if _has(process, variable, value)]


def must_be_alone(folder: Path) -> None:
    """Exit when an example is running in this folder."""
    if found := working_for(folder):
        pids = ", ".join(str(process.pid) for process in found)
        sys.exit(
            f"{folder} is in use by the processes {pids}.\nNothing was started or changed.\n"
            "`make down` ends a `make up`, also one that was killed; Ctrl-C ends a `make demo`."
        )


def end(processes: Iterable[psutil.Process]) -> None:
    """Terminate, then kill them. Returns when they are gone, or after a limit."""
    left = list(processes)
    for act in (psutil.Process.terminate, psutil.Process.kill):
        for process in left:
            try:
                act(process)
            except psutil.NoSuchProcess:
                continue
        _, left = psutil.wait_procs(left, timeout=_END_SECONDS)


def has_ended(process: psutil.Process, within: float) -> bool:
    """Whether a process ends within so many seconds. One whose parent has not asked for its end yet has ended."""
    limit = time.monotonic() + within
    with suppress(psutil.NoSuchProcess):
        while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
            if time.monotonic() > limit:
                return False
            time.sleep(_LOOK_EVERY)
    return True


class Stopped(SystemExit):
    """A signal stopped this program."""


def heed_signals() -> None:
    """Let signals unwind this program, so that it stops what it has started."""

    def leave(signum: int, _frame: object) -> None:
        raise Stopped(128 + signum)

    for signum in _REQUESTS:
        signal.signal(signum, leave)


def ignore_signals() -> None:
    """Ignore signals while everything is stopped, which has its limits."""
    for signum in _REQUESTS:
        signal.signal(signum, signal.SIG_IGN)


_REQUESTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _has(process: psutil.Process, variable: str, value: str) -> bool:
    try:
        return process.environ().get(variable) == value
    except psutil.Error:
        return False
